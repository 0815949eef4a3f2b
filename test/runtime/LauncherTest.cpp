// How ranks find their place and their secret.
#include "runtime/ranks/Launcher.h"
#include "runtime/ranks/Secret.h"
#include "test/runtime/TemporaryFolder.h"

#include <gtest/gtest.h>
#include <map>

namespace heddle {
namespace {

using Variables = std::map<std::string, std::string>;

Result<RankPlace> find(const Variables &variables, RankFlags flags = {}) {
  return findRankPlace(flags, [&](const char *name) {
    auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

// Returns "1 of 2 by mpirun, tcp node:4711".
std::string describe(const Result<RankPlace> &place) {
  if (!place)
    return place.message();
  const char *kinds[] = {"mpi", "tcp", "file", "local"};
  std::string where = str(kinds[place->rendezvous.kind], " ", place->rendezvous.host, place->rendezvous.path);
  return str(place->rank, " of ", place->ranks, " by ", place->launcher, ", ", where,
             place->rendezvous.port ? str(":", place->rendezvous.port) : "");
}

TEST(LauncherTest, oneProcessIsOneRank) {
  EXPECT_EQ(find({})->ranks, 1u);
  // A Slurm batch script is not a rank.
  EXPECT_EQ(find({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}})->ranks, 1u);
}

TEST(LauncherTest, launchersSayTheRank) {
  EXPECT_EQ(describe(find({{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "2"}})), "1 of 2 by mpirun, mpi ");
  EXPECT_EQ(describe(find({{"OMPI_COMM_WORLD_RANK", "1"},
                           {"OMPI_COMM_WORLD_SIZE", "2"},
                           {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                           {"PMIX_NAMESPACE", "77"}})),
            "1 of 2 by mpirun, local heddle.77");
  const std::string secret = "0123456789abcdef";
  Variables torch{{"RANK", "3"},
                  {"WORLD_SIZE", "4"},
                  {"MASTER_ADDR", "node1"},
                  {"MASTER_PORT", "29500"},
                  {"HEDDLE_RANKS_SECRET", secret}};
  EXPECT_EQ(describe(find(torch)), "3 of 4 by torchrun, tcp node1:29500");
  torch["TORCHELASTIC_RUN_ID"] = "none"; // torchrun itself uses the port
  EXPECT_EQ(describe(find(torch)), "3 of 4 by torchrun, tcp node1:29501");
  EXPECT_EQ(describe(find({{"SLURM_PROCID", "2"},
                           {"SLURM_NTASKS", "8"},
                           {"SLURM_STEP_ID", "0"},
                           {"SLURM_JOB_ID", "5"},
                           {"HEDDLE_RANKS_SECRET", secret},
                           {"SLURM_STEP_NODELIST", "node[07-09,12],other"}})),
            "2 of 8 by srun, tcp node07:20035");
}

TEST(LauncherTest, flagsComeFirst) {
  Variables mpi{{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "2"}};
  EXPECT_EQ(describe(find(mpi, {.rank = 0, .ranks = 2, .rendezvous = {}})), "0 of 2 by --rank, mpi ");
  const Variables secret{{"HEDDLE_RANKS_SECRET", "0123456789abcdef"}};
  mpi.insert(*secret.begin());
  EXPECT_EQ(describe(find(secret, {.rank = 0, .ranks = 2, .rendezvous = "tcp:node:4711"})),
            "0 of 2 by --rank, tcp node:4711");
  EXPECT_EQ(describe(find({}, {.rank = 1, .ranks = 2, .rendezvous = "file:/shared/x"})),
            "1 of 2 by --rank, file /shared/x");
  EXPECT_EQ(describe(find(mpi, {.rank = {}, .ranks = {}, .rendezvous = "tcp:[::1]:80"})),
            "1 of 2 by mpirun, tcp ::1:80");
}

TEST(LauncherTest, mistakesAreTold) {
  auto told = [](const Result<RankPlace> &place) { return place.ok() ? "nothing" : place.message(); };
  EXPECT_NE(told(find({{"OMPI_COMM_WORLD_RANK", "x"}, {"OMPI_COMM_WORLD_SIZE", "2"}})).find("OMPI_COMM_WORLD_RANK=x"),
            std::string::npos);
  EXPECT_NE(told(find({{"OMPI_COMM_WORLD_RANK", "2"}, {"OMPI_COMM_WORLD_SIZE", "2"}}))
                .find("mpirun says rank 2 of 2; ranks count from 0 to 1."),
            std::string::npos);
  EXPECT_NE(told(find({}, {.rank = 1, .ranks = {}, .rendezvous = {}})).find("--rank and --ranks come together"),
            std::string::npos);
  EXPECT_NE(told(find({}, {.rank = 1, .ranks = 2, .rendezvous = {}})).find("need --rendezvous"), std::string::npos);
  EXPECT_NE(told(find({}, {.rank = {}, .ranks = {}, .rendezvous = "mpi"})).find("there is one process alone"),
            std::string::npos);
  EXPECT_NE(told(find({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", ""}, {"MASTER_PORT", "9"}}))
                .find("names no machine"),
            std::string::npos);
  for (const char *place :
       {"", "tcp:", "tcp:host", "tcp:host:", "tcp:host:0", "tcp:host:70000", "tcp::80", "file:", "udp:host:80"})
    if (*place)
      EXPECT_NE(told(find({}, {.rank = 0, .ranks = 2, .rendezvous = place})).find("is no place where ranks can meet"),
                std::string::npos)
          << place;
  EXPECT_NE(told(find({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "a"}, {"MASTER_PORT", "99999"}}))
                .find("MASTER_PORT is no port"),
            std::string::npos);
}

TEST(LauncherTest, ranksThatMeetByTcpHaveASecret) {
  test::TemporaryFolder folder;
  std::string file = (folder.path() / "secret").string();
  auto place = [&](const Variables &variables, const std::string &rendezvous, const std::string &secretFile = {}) {
    return find(variables, {.rank = 0, .ranks = 2, .rendezvous = rendezvous, .secretFile = secretFile});
  };
  EXPECT_NE(place({}, "tcp:node:80").message().find("have no secret to know each other by"), std::string::npos);
  EXPECT_EQ(place({}, "file:/shared/x")->secret, ""); // rank 0 creates one
  EXPECT_EQ(place({{"HEDDLE_RANKS_SECRET", "0123456789abcdef"}}, "tcp:node:80")->secret, "0123456789abcdef");
  test::spit(file, "fedcba9876543210\n");
  EXPECT_EQ(place({{"HEDDLE_RANKS_SECRET", "0123456789abcdef"}}, "tcp:node:80", file)->secret, "fedcba9876543210");
  for (const Variables &variables : {Variables{{"HEDDLE_RANKS_SECRET", ""}}, {{"HEDDLE_RANKS_SECRET", "short"}}}) {
    auto refused = place(variables, "tcp:node:80");
    ASSERT_FALSE(refused.ok());
    EXPECT_NE(refused.message().find("HEDDLE_RANKS_SECRET, has"), std::string::npos) << refused.message();
    EXPECT_EQ(refused.message().find("short"), std::string::npos) << "a secret is not printed";
  }
  test::spit(file, std::string(5000, 'x'));
  for (const std::string &name : {file, (folder.path() / "absent").string(), folder.path().string()}) {
    auto refused = place({}, "tcp:node:80", name);
    ASSERT_FALSE(refused.ok());
    EXPECT_NE(refused.message().find("--ranks-secret-file"), std::string::npos) << refused.message();
    EXPECT_NE(refused.message().find(name), std::string::npos) << refused.message();
  }
}

// Examples of FIPS 180-4 (NIST's "SHA256.pdf"), and the test cases of RFC 4231.
TEST(SecretTest, digestsAreThoseThatWerePublished) {
  EXPECT_EQ(hexadecimal(sha256("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hexadecimal(sha256("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hexadecimal(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(hexadecimal(sha256(std::string(1'000'000, 'a'))),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  const std::string large = "Test Using Larger Than Block-Size Key - Hash Key First";
  const std::tuple<std::string, std::string, const char *> cases[] = {
      {std::string(20, '\x0b'), "Hi There", "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"},
      {"Jefe", "what do ya want for nothing?", "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"},
      {std::string(20, '\xaa'), std::string(50, '\xdd'),
       "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"},
      {std::string(131, '\xaa'), large, "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"}};
  for (const auto &[key, text, digest] : cases)
    EXPECT_EQ(hexadecimal(hmac(key, text)), digest) << text;
  Digest digest = sha256("abc"), other = digest;
  EXPECT_TRUE(isSame(digest, other));
  other.back() ^= 1;
  EXPECT_FALSE(isSame(digest, other));
  EXPECT_FALSE(isSame(randomDigest(), randomDigest()));
}

TEST(LauncherTest, firstOfSlurmsHosts) {
  EXPECT_EQ(firstHost("node1"), "node1");
  EXPECT_EQ(firstHost("node1,node2"), "node1");
  EXPECT_EQ(firstHost("a,node[1-2]"), "a");
  EXPECT_EQ(firstHost("node[17-20,33],other"), "node17");
  EXPECT_EQ(firstHost("rack[3]-node,b"), "rack3-node");
}

} // namespace
} // namespace heddle
