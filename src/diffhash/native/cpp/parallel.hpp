// Threads for one call, and its interruption.
//
// Threads are started per call and joined before it returns. A pool would save some 30 microseconds,
// but a forked child has no pool threads and would wait for them for ever. A short call runs in the
// caller's thread only.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace diffhash {

// Checks from time to time whether to stop. Only the calling thread checks for a signal (in Python only
// the main thread sees Ctrl-C); the other threads read the flag.
class Interrupt {
public:
    using Check = bool (*)();

    explicit Interrupt(Check check) : check_(check), last_(Clock::now()) {}

    bool stopped() const { return stop_.load(std::memory_order_relaxed); }
    void stop() { stop_.store(true, std::memory_order_relaxed); }

    // For the calling thread. Cheap: checks for a signal at most every 50 ms.
    void poll() {
        if (!check_) return;
        const auto now = Clock::now();
        if (now - last_ < std::chrono::milliseconds(50)) return;
        last_ = now;
        if (check_()) stop();
    }

private:
    using Clock = std::chrono::steady_clock;
    Check check_;
    Clock::time_point last_;
    std::atomic<bool> stop_{false};
};

// Runs work(worker) for each of `n_threads` workers, the caller being worker 0. If the system starts no more
// threads, the caller also does the work of the others. An exception of any of them stops all and is thrown
// again here.
template <class Work>
void run_threads(std::size_t n_threads, Interrupt& interrupt, const Work& work) {
    if (n_threads <= 1) {
        work(std::size_t{0});
        return;
    }
    std::mutex mutex;
    std::condition_variable finished;
    std::size_t running = 0;
    std::exception_ptr error;
    const auto guarded = [&](std::size_t worker) {
        try {
            work(worker);
        } catch (...) {
            interrupt.stop();
            const std::lock_guard<std::mutex> lock(mutex);
            if (!error) error = std::current_exception();
        }
    };
    std::vector<std::thread> threads;
    threads.reserve(n_threads - 1);
    std::size_t started = 1;
    try {
        for (std::size_t worker = 1; worker < n_threads; ++worker) {
            {
                const std::lock_guard<std::mutex> lock(mutex);
                ++running;
            }
            threads.emplace_back([&, worker] {
                guarded(worker);
                const std::lock_guard<std::mutex> lock(mutex);
                --running;
                finished.notify_one();
            });
            ++started;
        }
    } catch (const std::system_error&) {
        const std::lock_guard<std::mutex> lock(mutex);
        --running;
    }
    guarded(0);
    // Some functions divide the rows among the workers before they start: nobody else would do these.
    for (std::size_t worker = started; worker < n_threads; ++worker) guarded(worker);
    {
        // The others may still work for a second: keep checking whether to stop.
        std::unique_lock<std::mutex> lock(mutex);
        while (running) {
            finished.wait_for(lock, std::chrono::milliseconds(50));
            if (!running) break;
            lock.unlock();
            interrupt.poll();
            lock.lock();
        }
    }
    for (std::thread& thread : threads) thread.join();
    if (error) std::rethrow_exception(error);
}

}  // namespace diffhash
