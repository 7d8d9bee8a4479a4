//===- JSONFields.h - Structs as JSON ---------------------------*- C++ -*-===//
//
// A struct is described once, for writing and for reading:
//
//   template <typename Archive> void describe(Archive &archive, Point &point) {
//     archive("x", point.x);
//     archive("y", point.y);
//   }
//
// writeJSON makes {"x": 1, "y": 2} of a Point, and readJSON reads it. Members
// may be numbers, bool, std::string, described structs, others with a toJSON()
// and a fromJSON(value, result, path), vectors of all these, and optional ones,
// which an object may lack; all others have to be there. An integer that its
// member cannot hold is an error. Descriptions are in the namespace of the
// struct.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_SUPPORT_JSONFIELDS_H
#define ATTN_SUPPORT_JSONFIELDS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/JSON.h"
#include <limits>
#include <optional>
#include <string>
#include <type_traits>

namespace attn {

namespace detail {
template <typename T>
using Emplaced = decltype(std::declval<T &>().emplace_back());
template <typename T>
constexpr bool isVector = llvm::is_detected<Emplaced, T>::value;
template <typename T>
using Written = decltype(std::declval<const T &>().toJSON());
template <typename T>
constexpr bool writesItself = llvm::is_detected<Written, T>::value;
} // namespace detail

/// The members of one object. Blobs are not part of the JSON: their bytes go
/// behind `bytes`, in the order of the descriptions, unless that is null.
class JSONWriter {
public:
  explicit JSONWriter(std::string *bytes = nullptr) : bytes(bytes) {}

  template <typename T> llvm::json::Value write(const T &value) {
    if constexpr (std::is_same_v<T, std::string>) {
      // JSON holds nothing but UTF-8; names of files may be anything.
      return llvm::json::isUTF8(value) ? value : llvm::json::fixUTF8(value);
    } else if constexpr (std::is_same_v<T, bool> ||
                         std::is_floating_point_v<T>) {
      return value;
    } else if constexpr (std::is_integral_v<T>) {
      return static_cast<int64_t>(value);
    } else if constexpr (detail::writesItself<T>) {
      return value.toJSON();
    } else if constexpr (detail::isVector<T>) {
      llvm::json::Array array;
      for (const auto &element : value)
        array.push_back(write(element));
      return array;
    } else {
      JSONWriter writer(bytes);
      // Descriptions take what a reader changes. A writer changes nothing.
      describe(writer, const_cast<T &>(value));
      return std::move(writer.object);
    }
  }

  template <typename T>
  void operator()(llvm::StringLiteral name, const T &value) {
    object[name] = write(value);
  }
  template <typename T>
  void operator()(llvm::StringLiteral name, const std::optional<T> &value) {
    if (value)
      object[name] = write(*value);
  }
  /// An enumeration, by the names of its numbers from 0 on.
  template <typename T>
  void choice(llvm::StringLiteral name, T value,
              llvm::ArrayRef<llvm::StringRef> names) {
    object[name] = names[static_cast<size_t>(value)];
  }
  /// An enumeration, by its numbers, which are less than `end`.
  template <typename T>
  void number(llvm::StringLiteral name, T value, int64_t end) {
    object[name] = static_cast<int64_t>(value);
  }
  /// `name` is its size.
  void blob(llvm::StringLiteral name, const std::string &blob) {
    object[name] = static_cast<int64_t>(blob.size());
    if (bytes)
      *bytes += blob;
  }

private:
  llvm::json::Object object;
  std::string *bytes;
};

/// Reads the same from an object. The first error is reported to the path.
/// Blobs take their bytes from the front of `bytes`.
class JSONReader {
public:
  explicit JSONReader(llvm::json::Path path, llvm::StringRef *bytes = nullptr)
      : path(path), bytes(bytes) {}

  template <typename T> bool read(const llvm::json::Value &value, T &result) {
    if constexpr (detail::isVector<T>) {
      const llvm::json::Array *array = value.getAsArray();
      if (!array)
        return fail("expected array");
      for (const auto &[number, element] : llvm::enumerate(*array))
        if (!JSONReader(path.index(number), bytes)
                 .read(element, result.emplace_back()))
          return false;
      return true;
    } else if constexpr (std::is_same_v<T, std::string> ||
                         std::is_same_v<T, bool> ||
                         std::is_floating_point_v<T>) {
      return fromJSON(value, result, path);
    } else if constexpr (detail::writesItself<T>) {
      return T::fromJSON(value, result, path);
    } else if constexpr (std::is_integral_v<T>) {
      int64_t number = 0;
      if (!fromJSON(value, number, path))
        return false;
      result = static_cast<T>(number);
      bool isNegative = number < 0 && !std::numeric_limits<T>::is_signed;
      return (static_cast<int64_t>(result) == number && !isNegative) ||
             fail("expected a number in range");
    } else {
      object = value.getAsObject();
      if (!object)
        return fail("expected object");
      describe(*this, result);
      return isOk;
    }
  }

  template <typename T> void operator()(llvm::StringLiteral name, T &result) {
    if (const llvm::json::Value *value = find(name))
      isOk = JSONReader(path.field(name), bytes).read(*value, result);
  }
  template <typename T>
  void operator()(llvm::StringLiteral name, std::optional<T> &result) {
    if (isOk && object->get(name))
      (*this)(name, result.emplace());
  }
  template <typename T>
  void choice(llvm::StringLiteral name, T &result,
              llvm::ArrayRef<llvm::StringRef> names) {
    const llvm::json::Value *value = find(name);
    if (!value)
      return;
    const auto *found = llvm::find(names, value->getAsString().value_or(""));
    result = static_cast<T>(found - names.begin());
    isOk = found != names.end() ||
           JSONReader(path.field(name)).fail("expected one of a few names");
  }
  template <typename T>
  void number(llvm::StringLiteral name, T &result, int64_t end) {
    int64_t number = 0;
    (*this)(name, number);
    isOk = isOk &&
           ((number >= 0 && number < end) ||
            JSONReader(path.field(name)).fail("expected a number in range"));
    result = static_cast<T>(isOk ? number : 0);
  }
  void blob(llvm::StringLiteral name, std::string &blob) {
    uint64_t size = 0;
    (*this)(name, size);
    if (!isOk || !bytes)
      return;
    isOk = size <= bytes->size() ||
           JSONReader(path.field(name))
               .fail("expected no more bytes than there are");
    if (!isOk)
      return;
    blob = bytes->take_front(size).str();
    *bytes = bytes->drop_front(size);
  }

private:
  bool fail(llvm::StringLiteral text) {
    path.report(text);
    return false;
  }
  /// A member that has to be there.
  const llvm::json::Value *find(llvm::StringLiteral name) {
    if (!isOk)
      return nullptr;
    const llvm::json::Value *value = object->get(name);
    isOk = value || JSONReader(path.field(name)).fail("missing value");
    return value;
  }

  llvm::json::Path path;
  llvm::StringRef *bytes;
  const llvm::json::Object *object = nullptr;
  bool isOk = true;
};

/// A struct, and the version of its description, without which there is none.
template <typename T> struct Versioned {
  T &value;
  int64_t known, version = known;
};

template <typename Archive, typename T>
void describe(Archive &archive, Versioned<T> &versioned) {
  archive("version", versioned.version);
  if (versioned.version == versioned.known)
    describe(archive, versioned.value);
}

template <typename T>
llvm::json::Value writeJSON(const T &value, int64_t version,
                            std::string *bytes = nullptr) {
  // See JSONWriter.
  Versioned<T> versioned{const_cast<T &>(value), version};
  return JSONWriter(bytes).write(versioned);
}

/// Fails for another version than `version`. `name` and `what` are for errors.
template <typename T>
llvm::Error readJSON(const llvm::json::Value &value, T &result, int64_t version,
                     llvm::StringRef name, llvm::StringRef what,
                     llvm::StringRef *bytes = nullptr) {
  llvm::json::Path::Root root(name);
  Versioned<T> versioned{result, version};
  if (!JSONReader(root, bytes).read(value, versioned))
    return root.getError();
  if (versioned.version == version)
    return llvm::Error::success();
  return llvm::createStringError("expects a " + what + " of version " +
                                 llvm::Twine(version) + ", but got version " +
                                 llvm::Twine(versioned.version));
}

} // namespace attn

#endif // ATTN_SUPPORT_JSONFIELDS_H
