// SPDX-License-Identifier: Apache-2.0
// Holds a mutex for a scope, as std::lock_guard does for std::mutex, whose lock() may throw.
#pragma once

#include <pthread.h>

namespace spark {

class Locked {
public:
    explicit Locked(pthread_mutex_t& mutex) : mutex_(mutex) { pthread_mutex_lock(&mutex_); }
    ~Locked() { pthread_mutex_unlock(&mutex_); }
    Locked(const Locked&) = delete;
    Locked& operator=(const Locked&) = delete;

private:
    pthread_mutex_t& mutex_;
};

} // namespace spark
