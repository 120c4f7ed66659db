// Which bytes are read, and the one-line errors.
#include "engine/data/text_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <functional>
#include <limits>
#include <string>

#include "engine/data/dataset.h"
#include "kernels/error.h"
#include "tests/engine/data/temporary_folder.h"

namespace ulpscope::engine {
namespace {

using namespace std::string_view_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using Paths = std::vector<std::string>;

std::string content(const Paths& paths) {
  const TextBytes text = read_text(paths);
  return {text.bytes.begin(), text.bytes.end()};
}

template <class Call>
std::string usage_error(Call call) {
  try {
    call();
  } catch (const UsageError& e) {
    EXPECT_THAT(e.what(), Not(HasSubstr("\n")));
    return e.what();
  }
  return "no UsageError";
}

std::string load_error(const Paths& paths, TextOptions options) {
  return usage_error([&] { load_text(paths, options); });
}

TEST(text_files, a_file_is_taken_as_it_is) {
  const TemporaryFolder folder;
  const std::string bytes("a\0b\xff\n"sv);
  EXPECT_EQ(content({folder.write("a.txt", bytes)}), bytes);
  // Longer than a read's chunk of 1 MiB, by one byte.
  std::string large(std::size_t{1} << 20, 'x');
  large += 'y';
  EXPECT_EQ(content({folder.write("large.txt", large)}), large);
}

TEST(text_files, a_folder_is_read_in_sorted_order) {
  const TemporaryFolder folder;
  folder.write("b/2.txt", "2");
  folder.write("b/10.txt", "1");
  folder.write("c.txt", "3");
  folder.write("a/z/deep.txt", "0");
  const TextBytes text = read_text({folder.path().string()});
  EXPECT_EQ(std::string(text.bytes.begin(), text.bytes.end()), "0123");
  EXPECT_EQ(text.source, folder.path().string() + " (4 files)");
}

TEST(text_files, hidden_build_and_binary_entries_are_left_out) {
  const TemporaryFolder folder;
  folder.write("keep.txt", "keep");
  folder.write("build.md", "[a file named build is text]");
  folder.write(".hidden", "no");
  folder.write(".git/config", "no");
  folder.write("build/a.txt", "no");
  folder.write("build-asan/a.txt", "no");
  folder.write("binary.dat", "no\0no"sv);
  // The NUL comes after the first chunk has been taken.
  folder.write("late.dat", std::string((std::size_t{1} << 20) + 5, 'n') + std::string(1, '\0'));
  EXPECT_EQ(content({folder.path().string()}), "[a file named build is text]keep");
}

TEST(text_files, symbolic_links_in_a_folder_are_not_followed) {
  const TemporaryFolder folder;
  const TemporaryFolder elsewhere;
  folder.write("a.txt", "a");
  elsewhere.write("b.txt", "b");
  std::filesystem::create_directory_symlink(folder.path(), folder.path() / "loop");
  std::filesystem::create_directory_symlink(elsewhere.path(), folder.path() / "elsewhere");
  std::filesystem::create_symlink("self", folder.path() / "self");
  std::filesystem::create_symlink(folder.path() / "a.txt", folder.path() / "again.txt");
  EXPECT_EQ(content({folder.path().string()}), "a");
  // A link the user names is what the user means.
  EXPECT_EQ(content({(folder.path() / "elsewhere").string()}), "b");
}

TEST(text_files, a_file_reached_twice_is_read_once) {
  const TemporaryFolder folder;
  const std::string a = folder.write("a.txt", "a");
  folder.write("b.txt", "b");
  EXPECT_EQ(content({a, folder.path().string(), folder.path().string() + "/./a.txt"}), "ab");
}

TEST(text_files, errors_name_the_path_in_one_line) {
  const TemporaryFolder folder;
  const std::string empty = folder.write("empty.txt", "");
  folder.write("hollow/.hidden", "x");
  folder.write("hollow/zero.txt", "");
  const std::string hollow = (folder.path() / "hollow").string();
  const std::string absent = (folder.path() / "absent.txt").string();
  const std::string pipe = (folder.path() / "pipe").string();
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);

  EXPECT_THAT(usage_error([] { read_text({}); }), HasSubstr("name at least one text file or folder"));
  EXPECT_THAT(usage_error([&] { read_text({absent}); }), AllOf(HasSubstr(absent), HasSubstr("does not exist")));
  EXPECT_THAT(usage_error([&] { read_text({empty}); }), AllOf(HasSubstr(empty), HasSubstr("is empty")));
  EXPECT_THAT(usage_error([&] { read_text({hollow}); }), AllOf(HasSubstr(hollow), HasSubstr("holds no text")));
  EXPECT_THAT(usage_error([&] { read_text({pipe}); }), AllOf(HasSubstr(pipe), HasSubstr("neither a file nor a folder")));
}

TEST(text_files, an_unreadable_file_is_a_usage_error) {
  // Opens, but address 0 of a process cannot be read: true for every user, root too.
  if (!std::filesystem::exists("/proc/self/mem")) GTEST_SKIP() << "no /proc/self/mem on this system";
  EXPECT_THAT(usage_error([] { read_text({"/proc/self/mem"}); }), HasSubstr("cannot read '/proc/self/mem'"));
}

/// What a child that is not root has to say. Root may open every file.
std::string told_without_privileges(const std::function<std::string()>& tell) {
  int ends[2];
  if (pipe(ends) != 0) return "no pipe";
  const pid_t child = fork();
  if (child == 0) {
    if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) _exit(77);
    const std::string told = tell();
    _exit(write(ends[1], told.data(), told.size()) == static_cast<ssize_t>(told.size()) ? 0 : 1);
  }
  close(ends[1]);
  std::string told;
  char buffer[256];
  for (ssize_t n; (n = read(ends[0], buffer, sizeof buffer)) > 0;) told.append(buffer, static_cast<std::size_t>(n));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 77 ? "cannot drop privileges" : told;
}

TEST(text_files, an_unopenable_file_is_a_usage_error) {
  const TemporaryFolder folder;
  const std::string locked = folder.write("locked.txt", "secret");
  ASSERT_EQ(chmod(std::filesystem::path(locked).parent_path().c_str(), 0755), 0);
  ASSERT_EQ(chmod(locked.c_str(), 0), 0);
  const std::string told = told_without_privileges([&] { return usage_error([&] { read_text({locked}); }); });
  if (told == "cannot drop privileges") GTEST_SKIP() << "root here, and the child cannot become anybody else";
  EXPECT_THAT(told, HasSubstr("cannot read '" + locked + "': Permission denied"));
}

TEST(load_text, refuses_a_context_longer_than_the_text) {
  const TemporaryFolder folder;
  const std::string file = folder.write("a.txt", std::string(100, 'a'));
  const std::string message = load_error({file}, {.context = 100, .held_out = 0.0});
  EXPECT_THAT(message, AllOf(HasSubstr("context 100"), HasSubstr("100 bytes"), HasSubstr(file)));
  EXPECT_NE(load_text({file}, {.context = 99, .held_out = 0.0}), nullptr);
  EXPECT_THAT(load_error({file}, {.context = 0}), HasSubstr("at least 1"));
}

TEST(load_text, refuses_a_share_out_of_range) {
  const TemporaryFolder folder;
  const std::string file = folder.write("a.txt", std::string(1000, 'a'));
  for (const double share : {-0.1, 0.91, std::numeric_limits<double>::quiet_NaN()})
    EXPECT_THAT(load_error({file}, {.context = 8, .held_out = share}), HasSubstr("must be a share from 0 to 0.9")) << share;
  EXPECT_NE(load_text({file}, {.context = 8, .held_out = 0.9}), nullptr);
}

// What the message advises must work.
double advised_share(const std::string& message) {
  const std::size_t at = message.find("held_out to at ");
  return at == std::string::npos ? std::nan("") : std::stod(message.substr(message.find_first_of("0123456789", at)));
}
std::int64_t advised_context(const std::string& message) {
  const std::string mark = "context to at most ";
  const std::size_t at = message.find(mark);
  return at == std::string::npos ? -1 : std::stoll(message.substr(at + mark.size()));
}

TEST(load_text, a_part_too_small_for_a_window_gets_advice_that_works) {
  const TemporaryFolder folder;
  for (const int bytes : {77, 100, 131, 1000, 4099}) {
    const std::string file = folder.write("a" + std::to_string(bytes), std::string(static_cast<std::size_t>(bytes), 'a'));
    for (const double share : {0.001, 0.01, 0.1, 0.5, 0.9}) {
      for (const std::int64_t context : {8, 64, 76}) {
        const std::string message = load_error({file}, {.context = context, .held_out = share});
        if (message == "no UsageError") continue;
        SCOPED_TRACE(message);
        const double better = advised_share(message);
        if (!std::isnan(better)) {
          EXPECT_NO_THROW(load_text({file}, {.context = context, .held_out = better}));
        }
        const std::int64_t shorter = advised_context(message);
        if (shorter > 0) {
          EXPECT_NO_THROW(load_text({file}, {.context = shorter, .held_out = share}));
        }
        EXPECT_NO_THROW(load_text({file}, {.context = context, .held_out = 0.0}));
      }
    }
  }
  const std::string message = load_error({folder.write("b", std::string(1000, 'b'))}, {.context = 127, .held_out = 0.1});
  EXPECT_THAT(message, AllOf(HasSubstr("900 bytes for training and 100 held out"), HasSubstr("held_out to at least 0.128"),
                             HasSubstr("context to at most 99")));
}

}  // namespace
}  // namespace ulpscope::engine
