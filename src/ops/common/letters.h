// SPDX-License-Identifier: Apache-2.0
// The letters in the shapes of an operator's fields: the first tensor that has one says its size, the others must
// agree. Used by validate.cpp, field by field.
#pragma once

#include "ops/common/validate.h"

namespace spark {

class ShapeLetters {
public:
    ShapeLetters(const OpSpec& spec, ValidatedArgs& out, Report& report); // none is bound
    // Binds the letters of field i's shape, or compares with what they are bound to. A row of records has as many
    // elements as these hold; its shape counts bytes.
    spark_status bind(uint32_t i, const spark_quant& quant);
    // The field that has bound a letter.
    uint32_t owner(int32_t symbol) const { return owner_[symbol]; }

private:
    spark_status bind_rest(uint32_t i, uint32_t length);
    spark_status differ(uint32_t i, uint32_t d, const Dim& dim, const spark_quant_form* records) const;

    const OpSpec& spec_;
    ValidatedArgs& out_;
    Report& report_;
    uint32_t owner_[MAX_SYMBOLS], dim_[MAX_SYMBOLS];
    uint32_t rest_owner_ = NO_FIELD;
};

} // namespace spark
