#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "base/error.h"
#include "base/files.h"

namespace cudaagent {
namespace {

TEST(Fd, ClosesOnceAndReportsErrors) {
  int raw = open("/dev/null", O_RDONLY | O_CLOEXEC);
  ASSERT_GE(raw, 0);
  {
    Fd fd(raw);
    EXPECT_EQ(fd.get(), raw);
  }
  EXPECT_EQ(fcntl(raw, F_GETFD), -1);
  Fd stale(raw);
  EXPECT_FALSE(stale.close());
  EXPECT_TRUE(stale.close());
  EXPECT_TRUE(Fd().close());
}

TEST(TempFolder, IsPrivateAndRemovedWithItsContents) {
  std::string path;
  {
    TempFolder folder;
    path = folder.path();
    struct stat info;
    ASSERT_EQ(stat(path.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0700u);
    std::string bytes("a\0b", 3);
    write_file(folder.file("x"), bytes);
    EXPECT_EQ(read_file(folder.file("x")), bytes);
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(Files, FailuresNameTheFile) {
  EXPECT_THROW(read_file("/nonexistent/x"), InternalError);
  EXPECT_THROW(write_file("/nonexistent/x", ""), UserError);
}

}  // namespace
}  // namespace cudaagent
