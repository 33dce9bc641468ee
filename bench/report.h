// SPDX-License-Identifier: Apache-2.0
// What has been measured, as a table and as JSON. Called by main.cpp.
#pragma once

#include "items.h"

namespace bench {

// The ceilings of which one bounds an item, with a space between.
std::string ceilings_of(const Item& item);
void print_table(const std::vector<Item>& items, const spark_device_info& device);
// The rows that a rival beats, a sentence each on standard error; how many there are.
size_t tell_beaten(const std::vector<Item>& items);
// False if the file cannot be written.
bool write_json(const std::string& path, const std::vector<Item>& items, const spark_device_info& device, int rounds);
// The members of a JSON object that say which card and which library this is, without braces.
std::string identity(const spark_device_info& device);

} // namespace bench
