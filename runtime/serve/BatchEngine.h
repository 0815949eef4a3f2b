// Answers requests that have one or more items each (texts, pairs), with one model in its own thread. A call of the
// model takes items of several requests.
#pragma once

#include "runtime/core/Log.h"
#include "runtime/serve/DeviceFailure.h"
#include "runtime/serve/Exchange.h"
#include "runtime/serve/ModelThread.h"
#include "runtime/serve/Routes.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace heddle::serve {

// `Worker` has add(Item), step(), which makes a call, and take(), which returns finished answers in the items' order.
template <typename Worker, typename Item, typename Answer> class BatchEngine {
public:
  using Finish = std::function<void(Exchange &, std::vector<Answer>)>;

  // `make` makes the worker, in the engine's thread; also anew after an error. All referenced objects must outlive this.
  BatchEngine(std::function<std::unique_ptr<Worker>()> make, const ServedModel &model, const ServeOptions &options,
              Metrics &metrics)
      : make(std::move(make)), options(options), metrics(metrics),
        mostHeld(2 * size_t(model.description.maximumSequences)),
        mostUnfinished(options.queue + model.description.maximumSequences), thread([this] { return step(); }) {}

  // Calls `finish` in the engine's thread with an answer for each item. Refuses the exchange instead if the model fails
  // or the time limit passes. Does nothing more if the client goes away. Returns an error if the queue is full.
  std::optional<ApiError> submit(const std::shared_ptr<Exchange> &exchange, std::vector<Item> items, Finish finish) {
    if (unfinished >= mostUnfinished)
      return queueIsFull();
    unfinished += int64_t(items.size());
    metrics.queued += int64_t(items.size());
    auto batch = std::make_shared<Batch>();
    batch->exchange = exchange;
    batch->items = std::move(items);
    batch->finish = std::move(finish);
    thread.post([this, batch] { batches.push_back(batch); });
    exchange->whenGone([this, batch] { thread.post([this, batch] { giveUp(*batch); }); });
    return std::nullopt;
  }

  // Calls the function in the engine's thread after all requests submitted before and before later ones, then `done`.
  void whenIdle(std::function<Status()> function, std::function<void(Status)> done) {
    thread.post([this, call = [function = std::move(function), done = std::move(done)] { done(function()); }] {
      batches.push_back(std::make_shared<Batch>());
      batches.back()->whenIdle = call;
    });
  }

  // Why the device no longer works; empty if it does.
  std::string failure() const { return lost.get(); }

private:
  using Clock = std::chrono::steady_clock;

  // A request, or a function that is called between the requests before and after it.
  struct Batch {
    std::function<void()> whenIdle;
    std::shared_ptr<Exchange> exchange;
    std::vector<Item> items;
    Finish finish;
    size_t added = 0; // number of items that the worker got
    std::vector<Answer> answers;
    bool isOver = false; // nobody waits for the answers
    Clock::time_point start = Clock::now();

    bool isComplete() const { return answers.size() == items.size(); }
  };

  // Ends a request without an answer. The items that the worker has are computed all the same.
  void drop(Batch &batch) {
    batch.isOver = true;
    auto left = int64_t(batch.items.size() - batch.added);
    unfinished -= left;
    metrics.queued -= left;
    batch.items.resize(batch.added);
  }

  void giveUp(Batch &batch) {
    if (batch.isOver)
      return;
    metrics.cancelled += batch.items.size() - batch.answers.size();
    drop(batch);
  }

  void refuse(Batch &batch, const ApiError &error) {
    if (batch.isOver)
      return;
    batch.exchange->refuse(error);
    drop(batch);
  }

  void endLate() {
    for (const std::shared_ptr<Batch> &batch : batches)
      if (!batch->whenIdle && batch->start + options.time < Clock::now())
        refuse(*batch, lateError(options.time));
  }

  // Gives the worker items up to the next function. Requests take turns, so that a short one does not wait for all of a
  // long one.
  void addItems() {
    auto end = std::ranges::find_if(batches, [](const auto &each) { return bool(each->whenIdle); });
    for (bool isFull = false; !isFull;) {
      isFull = true;
      for (auto batch = batches.begin(); batch != end && owners.size() < mostHeld; ++batch) {
        Batch &each = **batch;
        if (each.added == each.items.size())
          continue;
        worker->add(std::move(each.items[each.added++]));
        owners.push_back(*batch);
        --metrics.queued;
        isFull = false;
      }
    }
  }

  // Answers complete requests, and calls the functions that have no request before them.
  void answerComplete() {
    for (auto next = batches.begin(); next != batches.end();) {
      std::shared_ptr<Batch> batch = *next;
      bool isReady = batch->whenIdle ? next == batches.begin() : batch->isComplete();
      if (!isReady && batch->whenIdle)
        return; // no later request has begun
      if (!isReady) {
        ++next;
        continue;
      }
      next = batches.erase(next);
      if (batch->whenIdle)
        batch->whenIdle();
      if (std::exchange(batch->isOver, true) || batch->whenIdle)
        continue;
      metrics.whole.add(std::chrono::duration<double>(Clock::now() - batch->start).count());
      batch->finish(*batch->exchange, std::move(batch->answers));
    }
  }

  bool step() {
    answerComplete();
    if (batches.empty())
      return false;
    if (!worker)
      worker = make();
    addItems();
    metrics.running = int64_t(owners.size());
    if (Status stepped = worker->step(); !stepped.ok()) {
      fail(stepped.error());
    } else {
      ++metrics.steps;
      for (Answer &answer : worker->take()) {
        owners.front()->answers.push_back(std::move(answer));
        owners.pop_front();
        --unfinished;
      }
    }
    endLate();
    answerComplete();
    metrics.running = int64_t(owners.size());
    return !batches.empty();
  }

  // Refuses the requests that have items in the worker.
  void fail(const Error &error) {
    log(LogLevel::Error, error.message);
    lost.note(error);
    unfinished -= int64_t(owners.size());
    for (const std::shared_ptr<Batch> &batch : owners) {
      refuse(*batch, {500, error.message, "", "model_error"});
      batch->items.resize(batch->answers.size());
    }
    owners.clear();
    worker.reset(); // it still has the items
  }

  std::function<std::unique_ptr<Worker>()> make;
  const ServeOptions &options;
  Metrics &metrics;
  size_t mostHeld;
  int64_t mostUnfinished;
  std::atomic<int64_t> unfinished = 0; // items without an answer
  DeviceFailure lost;
  // Used by the engine's thread.
  std::unique_ptr<Worker> worker;
  std::deque<std::shared_ptr<Batch>> batches; // in order of arrival
  std::deque<std::shared_ptr<Batch>> owners;  // of the items that the worker has, in their order
  ModelThread thread;                         // must be the last member: it uses the others
};

} // namespace heddle::serve
