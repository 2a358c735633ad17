#include "cache/entry_file.h"

#include <string_view>

#include "base/hash.h"

namespace cudaagent::cache {
namespace {

constexpr char magic[] = "CAGT";
constexpr std::uint32_t format_version = 1;
constexpr std::size_t magic_bytes = 4, header_bytes = 24, checksum_bytes = 64;

template <class Integer>
void append(std::string& bytes, Integer value) {
  for (std::size_t i = 0; i < sizeof value; ++i) bytes.push_back(static_cast<char>(value >> (8 * i) & 0xff));
}

/// Takes integers and strings from the front; `ok` turns false for good once something is missing.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}

  template <class Integer>
  Integer integer() {
    std::string_view raw = take(sizeof(Integer));
    Integer value = 0;
    for (std::size_t i = 0; i < raw.size(); ++i) {
      value |= static_cast<Integer>(static_cast<Integer>(static_cast<unsigned char>(raw[i])) << (8 * i));
    }
    return value;
  }
  std::string_view take(std::uint64_t count) {
    ok = ok && count <= rest_.size();
    std::string_view taken = ok ? rest_.substr(0, count) : std::string_view();
    if (ok) rest_.remove_prefix(count);
    return taken;
  }
  bool done() const { return rest_.empty(); }

  bool ok = true;

 private:
  std::string_view rest_;
};

bool decode_fields(std::string_view bytes, Key& key) {
  Reader reader(bytes);
  auto count = reader.integer<std::uint32_t>();
  for (std::uint32_t i = 0; reader.ok && i < count; ++i) {
    std::string name(reader.take(reader.integer<std::uint32_t>()));
    std::string value(reader.take(reader.integer<std::uint32_t>()));
    key.fields.emplace_back(std::move(name), std::move(value));
  }
  return reader.ok && reader.done();
}

struct Header {
  Key key;
  std::uint64_t payload_bytes = 0;
  std::size_t payload_at = 0;
};

std::variant<Header, Damage> decode_header(const std::string& bytes) {
  if (bytes.size() < header_bytes) return Damage{"it is too short"};
  Reader reader(bytes);
  if (reader.take(magic_bytes) != std::string_view(magic, magic_bytes)) return Damage{"it is not a cache entry"};
  if (auto version = reader.integer<std::uint32_t>(); version != format_version) {
    return Damage{"its format version is " + std::to_string(version)};
  }
  auto kind = reader.integer<std::uint32_t>();
  if (kind > static_cast<std::uint32_t>(Kind::graph)) return Damage{"its kind is unknown"};
  auto key_bytes = reader.integer<std::uint32_t>();
  Header header;
  header.payload_bytes = reader.integer<std::uint64_t>();
  header.payload_at = header_bytes + key_bytes;
  header.key.kind = static_cast<Kind>(kind);
  std::string_view key = reader.take(key_bytes);
  if (!reader.ok || !decode_fields(key, header.key)) return Damage{"its key is cut off or damaged"};
  return header;
}

}  // namespace

std::string kind_name(Kind kind) {
  switch (kind) {
    case Kind::record:
      return "record";
    case Kind::binary:
      return "binary";
    case Kind::host_binary:
      return "host_binary";
    case Kind::graph:
      return "graph";
  }
  return "unknown";
}

std::string encode_fields(const Key& key) {
  std::string bytes;
  append(bytes, static_cast<std::uint32_t>(key.fields.size()));
  for (const auto& [name, value] : key.fields) {
    append(bytes, static_cast<std::uint32_t>(name.size()));
    bytes += name;
    append(bytes, static_cast<std::uint32_t>(value.size()));
    bytes += value;
  }
  return bytes;
}

std::string Key::digest() const { return sha256(kind_name(kind) + '\0' + encode_fields(*this)); }

std::string encode_entry(const Key& key, const std::string& payload) {
  std::string fields = encode_fields(key);
  std::string bytes(magic, magic_bytes);
  append(bytes, format_version);
  append(bytes, static_cast<std::uint32_t>(key.kind));
  append(bytes, static_cast<std::uint32_t>(fields.size()));
  append(bytes, static_cast<std::uint64_t>(payload.size()));
  bytes += fields;
  bytes += payload;
  return bytes + sha256(bytes);
}

std::variant<Key, Damage> decode_key(const std::string& bytes) {
  auto header = decode_header(bytes);
  if (auto* damage = std::get_if<Damage>(&header)) return *damage;
  return std::get<Header>(header).key;
}

std::variant<Entry, Damage> decode_entry(const std::string& bytes) {
  auto decoded = decode_header(bytes);
  if (auto* damage = std::get_if<Damage>(&decoded)) return *damage;
  Header& header = std::get<Header>(decoded);
  std::size_t rest = bytes.size() - header.payload_at;
  if (rest < checksum_bytes || rest - checksum_bytes != header.payload_bytes) return Damage{"its length is wrong"};
  std::size_t end = bytes.size() - checksum_bytes;
  if (sha256(std::string_view(bytes).substr(0, end)) != std::string_view(bytes).substr(end)) {
    return Damage{"its checksum does not match"};
  }
  return Entry{std::move(header.key), bytes.substr(header.payload_at, header.payload_bytes)};
}

}  // namespace cudaagent::cache
