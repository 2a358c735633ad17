#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "cache/cache_fixture.h"

namespace cudaagent::cache {
namespace {

namespace fs = std::filesystem;

TEST_F(CacheTest, StoredEntryComesBack) {
  Store s = store();
  std::string payload("a\0b\xff", 4);
  ASSERT_TRUE(s.put(make_key("r"), payload));
  auto entry = s.get(make_key("r"));
  ASSERT_TRUE(entry);
  EXPECT_EQ(entry->payload, payload);
  EXPECT_EQ(entry->key.fields, make_key("r").fields);
  EXPECT_FALSE(s.get(make_key("other")));
  EXPECT_FALSE(s.get(make_key("r", Kind::binary)));
}

TEST_F(CacheTest, EmptyPayloadEmptyKeyAndOverwriting) {
  Store s = store();
  ASSERT_TRUE(s.put(Key{}, ""));
  ASSERT_TRUE(s.get(Key{}));
  EXPECT_EQ(s.get(Key{})->payload, "");
  ASSERT_TRUE(s.put(Key{}, "second"));
  EXPECT_EQ(s.get(Key{})->payload, "second");
}

TEST_F(CacheTest, DigestTellsFieldBordersAndKindsApart) {
  Key a, b;
  a.fields = {{"ab", "c"}};
  b.fields = {{"a", "bc"}};
  EXPECT_NE(a.digest(), b.digest());
  EXPECT_NE(make_key("r").digest(), make_key("r", Kind::graph).digest());
  EXPECT_EQ(make_key("r").digest(), make_key("r").digest());
}

TEST_F(CacheTest, FoldersAndFilesArePrivate) {
  ASSERT_TRUE(store().put(make_key("r"), "p"));
  struct stat info;
  std::string path = only_file(folder + "/store");
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  for (fs::path up = fs::path(path).parent_path(); up != folder; up = up.parent_path()) {
    ASSERT_EQ(stat(up.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0700u) << up;
  }
}

TEST_F(CacheTest, EveryFlippedByteIsAMiss) {
  Store s = store();
  ASSERT_TRUE(s.put(make_key("r"), "payload"));
  std::string path = only_file(folder + "/store"), good = slurp(path);
  for (std::size_t i = 0; i < good.size(); ++i) {
    for (char flip : {'\x01', '\x80'}) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ flip);
      spill(path, bad);
      EXPECT_FALSE(s.get(make_key("r"))) << "byte " << i;
      auto listed = s.list();
      ASSERT_EQ(listed.size(), 1u);
      EXPECT_NE(listed[0].damage, "") << "byte " << i;
    }
  }
  spill(path, good);
  EXPECT_TRUE(s.get(make_key("r")));
}

TEST_F(CacheTest, EveryTruncationAndExtensionIsAMiss) {
  Store s = store();
  ASSERT_TRUE(s.put(make_key("r"), "payload"));
  std::string path = only_file(folder + "/store"), good = slurp(path);
  for (std::size_t length = 0; length < good.size(); ++length) {
    spill(path, good.substr(0, length));
    EXPECT_FALSE(s.get(make_key("r"))) << length;
  }
  spill(path, good + "x");
  EXPECT_FALSE(s.get(make_key("r")));
  ASSERT_TRUE(s.put(make_key("r"), "again"));  // a damaged entry is written over
  EXPECT_EQ(s.get(make_key("r"))->payload, "again");
}

TEST_F(CacheTest, LengthsThatOverflowAreAMiss) {
  Store s = store();
  ASSERT_TRUE(s.put(make_key("r"), "payload"));
  std::string path = only_file(folder + "/store"), good = slurp(path);
  for (std::size_t at : {12u, 16u, 24u, 28u}) {  // key bytes, payload bytes, number of fields, first name's length
    std::string bad = good;
    for (std::size_t i = at; i < at + 4; ++i) bad[i] = '\xff';
    spill(path, bad);
    EXPECT_FALSE(s.get(make_key("r")));
    EXPECT_EQ(s.verify(false).size(), 1u);
  }
}

TEST_F(CacheTest, EntryUnderAnotherKeysNameIsAMiss) {
  Store s = store();
  ASSERT_TRUE(s.put(make_key("one"), "1"));
  std::string bytes = slurp(only_file(folder + "/store"));
  fs::remove_all(folder + "/store");
  ASSERT_TRUE(s.put(make_key("two"), "2"));
  spill(only_file(folder + "/store"), bytes);
  EXPECT_FALSE(s.get(make_key("two")));
  ASSERT_EQ(s.verify(false).size(), 1u);
  EXPECT_EQ(s.verify(false)[0].damage, "its name does not match its key");
}

TEST_F(CacheTest, PipesFoldersAndLinksAreMisses) {
  Store s = store();
  ASSERT_TRUE(s.put(make_key("r"), "p"));
  std::string path = only_file(folder + "/store"), elsewhere = folder + "/elsewhere";
  fs::rename(path, elsewhere);
  fs::create_symlink(elsewhere, path);
  EXPECT_FALSE(s.get(make_key("r")));
  fs::remove(path);
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_FALSE(s.get(make_key("r")));
  fs::remove(path);
  fs::create_directory(path);
  EXPECT_FALSE(s.get(make_key("r")));
}

TEST_F(CacheTest, FileOthersMayWriteIsNotTrusted) {
  Store s = store();
  Key key = make_key("r", Kind::host_binary);
  ASSERT_TRUE(s.put(key, "code"));
  EXPECT_TRUE(s.get(key));
  std::string path = only_file(folder + "/store");
  ASSERT_EQ(chmod(path.c_str(), 0620), 0);
  EXPECT_FALSE(s.get(key));
  ASSERT_EQ(chmod(path.c_str(), 0600), 0);
  if (geteuid() == 0) {
    ASSERT_EQ(chown(path.c_str(), 12345, 12345), 0);
    EXPECT_FALSE(s.get(key));
  }
}

TEST_F(CacheTest, LayersServeDataButNoHostCode) {
  Store shipped(folder + "/shipped", {});
  ASSERT_TRUE(shipped.put(make_key("r"), "record"));
  ASSERT_TRUE(shipped.put(make_key("r", Kind::binary), "cubin"));
  ASSERT_TRUE(shipped.put(make_key("r", Kind::host_binary), "code"));
  Store s(folder + "/store", {folder + "/absent", folder + "/shipped"});
  EXPECT_EQ(s.get(make_key("r"))->payload, "record");
  EXPECT_EQ(s.get(make_key("r", Kind::binary))->payload, "cubin");
  EXPECT_FALSE(s.get(make_key("r", Kind::host_binary)));
  ASSERT_TRUE(s.put(make_key("r"), "mine"));  // the writable store comes first
  EXPECT_EQ(s.get(make_key("r"))->payload, "mine");
  EXPECT_EQ(shipped.get(make_key("r"))->payload, "record");
  EXPECT_EQ(s.list().size(), 4u);
}

TEST_F(CacheTest, NearerLayerWins) {
  ASSERT_TRUE(Store(folder + "/a", {}).put(make_key("r"), "near"));
  ASSERT_TRUE(Store(folder + "/b", {}).put(make_key("r"), "far"));
  Store s("", {folder + "/a", folder + "/b"});
  EXPECT_EQ(s.get(make_key("r"))->payload, "near");
}

TEST_F(CacheTest, DamageInTheStoreFallsThroughToALayer) {
  ASSERT_TRUE(Store(folder + "/layer", {}).put(make_key("r"), "good"));
  Store s(folder + "/store", {folder + "/layer"});
  ASSERT_TRUE(s.put(make_key("r"), "bad"));
  spill(only_file(folder + "/store"), "junk");
  EXPECT_EQ(s.get(make_key("r"))->payload, "good");
}

TEST_F(CacheTest, UnwritableFolderIsOneSentence) {
  spill(folder + "/file", "");
  Store s(folder + "/file/store", {});
  EXPECT_FALSE(s.put(make_key("r"), "p"));
  EXPECT_FALSE(s.put(make_key("q"), "p"));
  EXPECT_FALSE(s.get(make_key("r")));
  ASSERT_EQ(logged.size(), 1u);
  EXPECT_NE(logged[0].find("TORCH_CUDAAGENT_CACHE_DIR"), std::string::npos) << logged[0];
  EXPECT_TRUE(s.list().empty());
  EXPECT_EQ(s.collect(0), 0);
}

TEST_F(CacheTest, FullDiskLeavesNothingBehind) {
  ASSERT_TRUE(store().put(make_key("small"), "p"));
  pid_t child = fork();
  if (child == 0) {  // a file size limit fails the write as a full disk does
    signal(SIGXFSZ, SIG_IGN);
    rlimit limit{4096, 4096};
    setrlimit(RLIMIT_FSIZE, &limit);
    _exit(store().put(make_key("large"), std::string(100000, 'x')) ? 1 : 0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  only_file(folder + "/store");  // no temporary file is left
  EXPECT_TRUE(store().get(make_key("small")));
}

TEST_F(CacheTest, ProcessesWriteReadAndCollectAtOnce) {
  constexpr int processes = 4, rounds = 60;
  auto payload = [](int i) { return std::string(1000 + 50 * static_cast<std::size_t>(i), static_cast<char>('a' + i)); };
  std::vector<pid_t> children;
  for (int p = 0; p < processes; ++p) {
    pid_t child = fork();
    if (child == 0) {
      Store s = store();
      bool fine = true;
      for (int round = 0; round < rounds; ++round) {
        int i = (round + p) % 8;
        Key key = make_key(std::to_string(i));
        fine = fine && s.put(key, payload(i));
        auto entry = s.get(make_key(std::to_string((i + 3) % 8)));
        if (entry) fine = fine && entry->payload == payload((i + 3) % 8);  // whole or absent, never torn
        if (p == 0 && round % 10 == 0) s.collect(3000);
      }
      _exit(fine ? 0 : 1);
    }
    children.push_back(child);
  }
  for (pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  for (const EntryInfo& info : store().list()) EXPECT_EQ(info.damage, "") << info.path;
}

}  // namespace
}  // namespace cudaagent::cache
