#include <fcntl.h>
#include <sys/stat.h>

#include "cache/cache_fixture.h"

namespace cudaagent::cache {
namespace {

namespace fs = std::filesystem;

void set_age(const std::string& path, long seconds) {
  timespec times[2];
  clock_gettime(CLOCK_REALTIME, &times[0]);
  times[0].tv_sec -= seconds;
  times[1] = times[0];
  ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
}

TEST_F(CacheTest, ListNamesLayerKeyAndSize) {
  Store s = store();
  ASSERT_TRUE(s.put(make_key("r"), "payload"));
  auto entries = s.list();
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_EQ(entries[0].key.fields, make_key("r").fields);
  EXPECT_EQ(entries[0].layer, folder + "/store");
  EXPECT_EQ(entries[0].bytes, static_cast<std::int64_t>(fs::file_size(entries[0].path)));
  EXPECT_GT(entries[0].modified, 1600000000);
  EXPECT_EQ(entries[0].damage, "");
}

TEST_F(CacheTest, CollectRemovesTheLeastRecentlyUsed) {
  Store s = store();
  for (const char* name : {"a", "b", "c", "d"}) ASSERT_TRUE(s.put(make_key(name), std::string(1000, 'x')));
  std::int64_t each = s.list()[0].bytes;
  for (const EntryInfo& info : s.list()) {
    set_age(info.path, 1000 - 100 * (info.key.fields[0].second[0] - 'a'));  // a is oldest
  }
  ASSERT_TRUE(s.get(make_key("a")));  // used just now
  EXPECT_EQ(s.collect(2 * each), 2);
  EXPECT_TRUE(s.get(make_key("a")));
  EXPECT_FALSE(s.get(make_key("b")));
  EXPECT_FALSE(s.get(make_key("c")));
  EXPECT_TRUE(s.get(make_key("d")));
  EXPECT_EQ(s.collect(2 * each), 0);
  EXPECT_EQ(s.collect(0), 2);
  EXPECT_TRUE(s.list().empty());
}

TEST_F(CacheTest, CollectSweepsAbandonedFilesOnly) {
  Store s = store();
  ASSERT_TRUE(s.put(make_key("r"), "p"));
  std::string shard = fs::path(only_file(folder + "/store")).parent_path();
  spill(shard + "/.writing-old", "half");
  spill(shard + "/.writing-new", "half");
  set_age(shard + "/.writing-old", 2 * 3600);
  EXPECT_EQ(s.collect(1 << 20), 0);
  EXPECT_FALSE(fs::exists(shard + "/.writing-old"));
  EXPECT_TRUE(fs::exists(shard + "/.writing-new"));
  EXPECT_TRUE(s.get(make_key("r")));
}

TEST_F(CacheTest, CollectLeavesLayersAlone) {
  ASSERT_TRUE(Store(folder + "/layer", {}).put(make_key("r"), "p"));
  Store s(folder + "/store", {folder + "/layer"});
  EXPECT_EQ(s.collect(0), 0);
  EXPECT_TRUE(s.get(make_key("r")));
}

TEST_F(CacheTest, VerifyRemovesDamageOnRequest) {
  Store s = store();
  ASSERT_TRUE(s.put(make_key("r"), "p"));
  std::string bad = only_file(folder + "/store");
  spill(bad, "CAGT but short");
  ASSERT_TRUE(s.put(make_key("q"), "p"));
  auto count_damaged = [](const std::vector<EntryInfo>& entries) {
    int count = 0;
    for (const EntryInfo& info : entries) count += !info.damage.empty();
    return count;
  };
  EXPECT_EQ(count_damaged(s.verify(false)), 1);
  EXPECT_TRUE(fs::exists(bad));
  EXPECT_EQ(count_damaged(s.verify(true)), 1);
  EXPECT_FALSE(fs::exists(bad));
  EXPECT_EQ(count_damaged(s.verify(true)), 0);
  EXPECT_TRUE(s.get(make_key("q")));
}

TEST_F(CacheTest, MissNamesTheFieldsThatDiffer) {
  Store s = store();
  EXPECT_EQ(s.explain_miss(make_key("r")), "no record is stored yet");
  ASSERT_TRUE(s.put(make_key("r"), "p"));
  Key far = make_key("s");
  far.fields.push_back({"extra", "1"});
  ASSERT_TRUE(s.put(far, "p"));
  Key wanted = make_key("r");
  wanted.fields[1].second = "sm_80";
  std::string text = s.explain_miss(wanted);
  EXPECT_NE(text.find("arch is 'sm_80', not 'sm_90a'"), std::string::npos) << text;
  EXPECT_EQ(text.find("region"), std::string::npos) << text;
  Key fewer = far;
  fewer.fields[0].second = "t";
  fewer.fields[2] = {"other", "2"};
  EXPECT_NE(s.explain_miss(fewer).find("other is '2', which the entry does not have"), std::string::npos);
}

TEST_F(CacheTest, MissOfADamagedOrForeignEntrySaysSo) {
  Store s(folder + "/store", {folder + "/layer"});
  ASSERT_TRUE(s.put(make_key("r"), "p"));
  EXPECT_NE(s.explain_miss(make_key("r")).find("is there"), std::string::npos);
  std::string path = only_file(folder + "/store"), good = slurp(path);
  spill(path, good.substr(0, good.size() - 1) + "?");
  EXPECT_NE(s.explain_miss(make_key("r")).find("checksum"), std::string::npos);
  Key code = make_key("r", Kind::host_binary);
  ASSERT_TRUE(Store(folder + "/layer", {}).put(code, "code"));
  EXPECT_NE(s.explain_miss(code).find("writable store only"), std::string::npos) << s.explain_miss(code);
}

}  // namespace
}  // namespace cudaagent::cache
