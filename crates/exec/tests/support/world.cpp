// The same for C++: seeds, clocks, sleeping and the order of hash tables.
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <unordered_map>

int main() {
    std::random_device device;
    std::printf("device %u %u\n", device(), device());
    std::random_device named("/dev/urandom");
    std::printf("named %u\n", named());
    std::mt19937_64 engine{std::random_device{}()};
    std::printf("engine %llu\n", static_cast<unsigned long long>(engine()));
    auto since = [](auto point) { return static_cast<long long>(point.time_since_epoch().count()); };
    std::printf("clocks %lld %lld %lld\n", since(std::chrono::system_clock::now()), since(std::chrono::steady_clock::now()),
                since(std::chrono::high_resolution_clock::now()));
    auto start = std::chrono::steady_clock::now();
    std::this_thread::sleep_for(std::chrono::hours(10));
    std::this_thread::sleep_until(start + std::chrono::hours(11));
    std::printf("slept %lld\n", static_cast<long long>(std::chrono::duration_cast<std::chrono::hours>(std::chrono::steady_clock::now() - start).count()));
    std::mutex mutex;
    std::condition_variable condition;
    std::unique_lock lock(mutex);
    auto status = condition.wait_for(lock, std::chrono::milliseconds(20));
    std::printf("wait %s\n", status == std::cv_status::timeout ? "timed out" : "woken");
    std::unordered_map<std::string, int> table;
    for (int i = 0; i < 20; i++) table["key" + std::to_string(i)] = i;
    for (auto &[key, value] : table) std::printf("%s ", key.c_str());
    std::thread([] { std::printf("\nthread\n"); }).join();
    std::printf("processors %u, at %p\n", std::thread::hardware_concurrency(), static_cast<void *>(&table));
}
