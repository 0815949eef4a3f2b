#include "runtime/core/GgufBlocks.h"

#include "runtime/core/Narrow.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <span>

namespace heddle {
namespace {

void putBits(uint16_t bits, std::byte *place) { std::memcpy(place, &bits, sizeof bits); }

// Approximates values x by scale * n - offset, with n from 0 to 15. Neither scale nor offset is negative.
struct Fit {
  float scale = 0, offset = 0;
};

int numberOf(float x, Fit fit) {
  return fit.scale > 0 ? std::clamp(int(std::lround((x + fit.offset) / fit.scale)), 0, 15) : 0;
}

double errorOf(std::span<const float> values, Fit fit) {
  double sum = 0;
  for (float x : values) {
    double error = double(fit.scale) * numberOf(x, fit) - fit.offset - x;
    sum += error * error;
  }
  return sum;
}

// Tries several step widths. Each gives the nearest numbers n, and then the scale and offset with the least square
// error for these n. Returns the best fit.
Fit bestFit(std::span<const float> values) {
  auto [least, most] = std::ranges::minmax(values);
  least = std::min(least, 0.0f);
  Fit best{(most - least) / 15, -least};
  if (!(best.scale > 0)) // all values are equal and not positive
    return {0, -least};
  double bestError = errorOf(values, best);
  for (int step = -10; step <= 10; ++step) {
    Fit tried{(most - least) / (15 + 0.1f * float(step)), -least};
    double count = double(values.size()), sumN = 0, sumNN = 0, sumX = 0, sumNX = 0;
    for (float x : values) {
      double n = numberOf(x, tried);
      sumN += n, sumNN += n * n, sumX += x, sumNX += n * x;
    }
    double determinant = count * sumNN - sumN * sumN;
    if (determinant <= 0)
      continue;
    double scale = (count * sumNX - sumN * sumX) / determinant, offset = -(sumX - scale * sumN) / count;
    if (offset < 0)
      offset = 0, scale = sumNN > 0 ? sumNX / sumNN : 0;
    Fit fit{float(scale), float(offset)};
    if (double error = scale > 0 ? errorOf(values, fit) : bestError; error < bestError)
      best = fit, bestError = error;
  }
  return best;
}

} // namespace

void narrowF32Block(const float *values, std::byte *block) { std::memcpy(block, values, sizeof(float)); }
void narrowF16Block(const float *values, std::byte *block) { putBits(narrowF16(*values), block); }
void narrowBF16Block(const float *values, std::byte *block) { putBits(narrowBF16(*values), block); }

void narrowQ8_0(const float *values, std::byte *block) {
  float largest = 0;
  for (int i = 0; i < 32; ++i)
    largest = std::max(largest, std::abs(values[i]));
  float scale = largest / 127, inverse = scale == 0 ? 0 : 1 / scale;
  putBits(narrowF16(scale), block);
  for (int i = 0; i < 32; ++i)
    block[2 + i] = std::byte(uint8_t(int8_t(std::lround(values[i] * inverse))));
}

void narrowQ4_0(const float *values, std::byte *block) {
  float largest = *std::ranges::max_element(std::span(values, 32), {}, [](float x) { return std::abs(x); });
  float scale = largest / -8, inverse = scale == 0 ? 0 : 1 / scale;
  putBits(narrowF16(scale), block);
  auto numberOf = [&](float x) { return std::clamp(int(x * inverse + 8.5f), 0, 15); };
  for (int i = 0; i < 16; ++i)
    block[2 + i] = std::byte(uint8_t(numberOf(values[i]) | numberOf(values[16 + i]) << 4));
}

void narrowQ4_K(const float *values, std::byte *block) {
  std::array<Fit, 8> fits;
  Fit largest;
  for (size_t group = 0; group < 8; ++group) {
    fits[group] = bestFit(std::span(values + 32 * group, 32));
    largest = {std::max(largest.scale, fits[group].scale), std::max(largest.offset, fits[group].offset)};
  }
  // Scales and offsets are 6-bit integers times a common factor.
  uint16_t bits[] = {narrowF16(largest.scale / 63), narrowF16(largest.offset / 63)};
  Fit factor{widenF16(bits[0]), widenF16(bits[1])};
  std::fill(block, block + 144, std::byte(0));
  putBits(bits[0], block);
  putBits(bits[1], block + 2);
  auto shareOf = [](float value, float of) { return of > 0 ? std::clamp(int(std::lround(value / of)), 0, 63) : 0; };
  auto add = [&](size_t place, int value) { block[place] |= std::byte(uint8_t(value)); };
  for (size_t group = 0; group < 8; ++group) {
    int scale = shareOf(fits[group].scale, factor.scale), offset = shareOf(fits[group].offset, factor.offset);
    if (group < 4) { // the layout that sixBitsOf reads
      add(4 + group, scale);
      add(8 + group, offset);
    } else {
      add(8 + group, (scale & 15) | (offset & 15) << 4);
      add(group, scale >> 4 << 6);
      add(4 + group, offset >> 4 << 6);
    }
    Fit rounded{factor.scale * float(scale), factor.offset * float(offset)};
    for (size_t i = 0; i < 32; ++i)
      add(16 + 32 * (group / 2) + i, numberOf(values[32 * group + i], rounded) << (group % 2 * 4));
  }
}

} // namespace heddle
