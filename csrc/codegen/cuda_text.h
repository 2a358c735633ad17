// Source text as it is built: lines, and blocks that indent what they hold.
#pragma once

#include <string>
#include <string_view>

namespace cudaagent::codegen::cuda {

class Text {
 public:
  void line(std::string_view text) {
    text_.append(static_cast<std::size_t>(2 * depth_), ' ').append(text).append("\n");
  }
  /// A line with no indentation, as the preprocessor's are written.
  void directive(std::string_view text) { text_.append(text).append("\n"); }
  void open(std::string_view head) {
    line(head.empty() ? "{" : std::string(head) + " {");
    ++depth_;
  }
  void close(std::string_view tail = "") {
    --depth_;
    line("}" + std::string(tail));
  }
  /// for (int name = 0; name < count; ++name) {, unrolled.
  void open_unrolled(const std::string& name, std::int64_t count) {
    directive("#pragma unroll");
    open("for (int " + name + " = 0; " + name + " < " + std::to_string(count) + "; ++" + name + ")");
  }
  const std::string& str() const { return text_; }

 private:
  std::string text_;
  int depth_ = 0;
};

}  // namespace cudaagent::codegen::cuda
