//===- MadeOnceTest.cpp ---------------------------------------------------===//

#include "attn/Support/MadeOnce.h"
#include "gtest/gtest.h"
#include <atomic>
#include <chrono>
#include <future>
#include <thread>
#include <vector>

using attn::MadeOnce;

namespace {

std::shared_ptr<int> make(int value) { return std::make_shared<int>(value); }

TEST(MadeOnceTest, MakesOneValueOfAKeyInAllThreads) {
  MadeOnce<int> values;
  std::atomic<int> count{0};
  std::vector<std::future<std::shared_ptr<int>>> found;
  for (int n = 0; n < 8; ++n)
    found.push_back(std::async(std::launch::async, [&] {
      return values.get("key", [&] { return make(++count); });
    }));
  for (auto &value : found)
    EXPECT_EQ(*value.get(), 1);
  EXPECT_EQ(count, 1);
  EXPECT_EQ(*values.get("other", [] { return make(7); }), 7);
}

TEST(MadeOnceTest, OtherKeysDoNotWait) {
  MadeOnce<int> values;
  values.get("made", [] { return make(1); });
  std::promise<void> begun, others;
  auto slow = std::async(std::launch::async, [&] {
    return values.get("slow", [&] {
      begun.set_value();
      // The limit is for a test that fails; else nothing takes so long.
      auto status = others.get_future().wait_for(std::chrono::minutes(1));
      return make(status == std::future_status::ready);
    });
  });
  begun.get_future().wait();
  EXPECT_EQ(*values.get("made", [] { return make(3); }), 1);
  EXPECT_EQ(*values.get("new", [] { return make(4); }), 4);
  values.clear();
  EXPECT_EQ(*values.get("made", [] { return make(5); }), 5);
  others.set_value();
  EXPECT_EQ(*slow.get(), 1);
}

TEST(MadeOnceTest, TriesAgainAfterAFailure) {
  MadeOnce<int> values;
  EXPECT_EQ(values.get("key", [] { return std::shared_ptr<int>(); }), nullptr);
  EXPECT_EQ(*values.get("key", [] { return make(2); }), 2);
}

} // namespace
