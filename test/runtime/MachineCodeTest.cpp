#include "tools/heddle-inspect/MachineCode.h"

#include <gtest/gtest.h>

using namespace heddle;

namespace {

// An outer loop with two inner loops, the second with two back edges; a forward branch; a pair of instructions.
constexpr const char *kCode = R"(BB0:
	v_mov_b32_e32 v0, 0                   ; 7e000280
BB1:
	v_fma_f32 v1, v2, v3, v4              ; outside of the inner loops
BB2:
	v_fmac_f32_e32 v1, v2, v3             ; 56000000
	v_add_f32_e32 v1, v2, v3
	global_load_b128 v[4:7], v8, s[0:1]
	s_cbranch_scc1 BB2                    ; bfa20000
	s_cbranch_scc0 BB4
BB3:
	v_dual_fmac_f32 v1, v2, v3 :: v_dual_mul_f32 v4, v5, v6
	ds_load_b128 v[4:7], v8
	s_cbranch_vccz BB3
	v_pk_fma_f16 v1, v2, v3, v4
	s_branch BB3
BB4:
	s_cbranch_scc1 BB1
	s_endpgm
)";

TEST(MachineCode, CountsInnermostLoops) {
  std::vector<LoopCount> loops = innermostLoops(kCode);
  ASSERT_EQ(loops.size(), 2u);
  EXPECT_EQ(loops[0].arithmetic, 2u);
  EXPECT_EQ(loops[0].multiplyAdds, 1u);
  EXPECT_EQ(loops[0].memory, 1u);
  EXPECT_EQ(loops[0].scalar, 1u);
  EXPECT_DOUBLE_EQ(loops[0].multiplyAddShare(), 1.0 / 3);
  EXPECT_EQ(loops[1].arithmetic, 3u);
  EXPECT_EQ(loops[1].multiplyAdds, 2u);
  EXPECT_EQ(loops[1].memory, 1u);
  EXPECT_EQ(loops[1].scalar, 2u);
}

TEST(MachineCode, NeedsNoLoop) {
  EXPECT_TRUE(innermostLoops("").empty());
  EXPECT_TRUE(innermostLoops("BB0:\n\tv_mov_b32_e32 v0, 0\n\ts_cbranch_scc0 BB1\nBB1:\n\ts_endpgm").empty());
  EXPECT_DOUBLE_EQ(LoopCount().multiplyAddShare(), 0);
}

} // namespace
