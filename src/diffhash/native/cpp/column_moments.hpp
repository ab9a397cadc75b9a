// Sums, sums of squares and range of the columns of an array, in one pass over the memory.
#pragma once

#include <cstddef>

namespace diffhash {

template <class Real>
struct ColumnRequest {
    const Real* values;   // (n_rows, n_columns)
    std::size_t n_rows;
    std::size_t n_columns;
    const Real* shift;    // (n_columns) is subtracted from each row; near the mean, so that little precision is lost
    double* total;        // (n_columns) the sums are added to it
    double* squares;      // (n_columns) the sums of the squares, or null for the sums alone
    Real* low;            // (n_columns) smallest value so far; not null if squares is not
    Real* high;           // (n_columns) largest value so far
};

// A few rows at a time are summed in the type of the values, and these sums in double.
template <class Real>
void column_moments(const ColumnRequest<Real>& request);

}  // namespace diffhash
