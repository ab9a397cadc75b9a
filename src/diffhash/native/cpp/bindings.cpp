// The extension module. Python code checks shapes and types before it calls these functions.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <stdexcept>
#include <string>

#include "bandwidth.hpp"
#include "column_moments.hpp"
#include "distance_table.hpp"
#include "error_shares.hpp"
#include "join.hpp"
#include "binning.hpp"
#include "joint_counts.hpp"
#include "top_k.hpp"
#include "within.hpp"

namespace nb = nanobind;
using namespace diffhash;

namespace {

template <class T, int Dimensions>
using Array = nb::ndarray<T, nb::ndim<Dimensions>, nb::c_contig, nb::device::cpu>;
template <class T>
using Owned = nb::ndarray<nb::numpy, T, nb::ndim<1>>;

void require(bool holds, const char* what) {
    if (!holds) throw std::invalid_argument(what);
}

Codes codes_of(const Array<const std::uint8_t, 2>& array) {
    require(array.shape(1) >= 1 && array.shape(1) <= kMaxCodeBytes, "codes have 1 to 512 bytes");
    return {array.data(), array.shape(0), array.shape(1)};
}

const Kernel& kernel_named(const std::string& name) {
    const Kernel* kernel = find_kernel(name.c_str());
    if (!kernel) throw std::invalid_argument("no such kernel on this CPU: " + name);
    return *kernel;
}

// Without a thread there would be no progress, or a division by zero.
std::size_t at_least_one(std::size_t n_threads) {
    require(n_threads >= 1, "at least one thread is needed");
    return n_threads;
}

// True if a signal handler raised an exception (Ctrl-C). Outside the main thread it is never true.
bool signal_came() {
    const nb::gil_scoped_acquire gil;
    return PyErr_CheckSignals() != 0;
}

// Runs without the GIL. If it was interrupted, the exception of the signal handler is raised.
template <class Call>
void interruptible(const Call& call) {
    bool complete = false;
    {
        const nb::gil_scoped_release release;
        Interrupt interrupt(signal_came);
        complete = call(interrupt);
    }
    if (!complete) throw nb::python_error();
}

template <class T>
Owned<T> hand_over(std::vector<T>&& values) {
    auto* moved = new std::vector<T>(std::move(values));
    const nb::capsule owner(moved, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return Owned<T>(moved->data(), {moved->size()}, owner);
}

template <class Bits>
Filter filter_of(const std::optional<Bits>& allowed, std::size_t n) {
    if (!allowed) return {};
    require(allowed->shape(0) >= (n + 7) / 8, "the filter has fewer bits than there are rows");
    return {allowed->data()};
}

template <class Ids>
const std::int64_t* ids_of(const std::optional<Ids>& ids, std::size_t n) {
    if (!ids) return nullptr;
    require(ids->shape(0) == n, "as many ids as rows are needed");
    return ids->data();
}

using Bytes = Array<const std::uint8_t, 1>;
using Ids = Array<const std::int64_t, 1>;

void bind_top_k(const Array<const std::uint8_t, 2>& codes, const Array<const std::uint8_t, 2>& queries,
                const std::optional<Ids>& ids, const std::optional<Bytes>& allowed, std::size_t n_threads,
                const std::string& kernel, const Array<std::int64_t, 2>& rows,
                const Array<std::uint16_t, 2>& distances) {
    require(codes.shape(1) == queries.shape(1), "codes and queries have different widths");
    require(rows.shape(0) == queries.shape(0) && distances.shape(0) == queries.shape(0) &&
                rows.shape(1) == distances.shape(1) && rows.shape(1) <= codes.shape(0),
            "the result arrays have the wrong shape");
    const TopKRequest request{codes_of(codes),
                              codes_of(queries),
                              rows.shape(1),
                              filter_of(allowed, codes.shape(0)),
                              ids_of(ids, codes.shape(0)),
                              at_least_one(n_threads)};
    const Kernel& level = kernel_named(kernel);
    interruptible([&](Interrupt& interrupt) {
        return top_k(level, request, rows.data(), distances.data(), interrupt);
    });
}

nb::tuple bind_within(const Array<const std::uint8_t, 2>& codes, const Array<const std::uint8_t, 2>& queries,
                      unsigned radius, const std::optional<Ids>& ids, const std::optional<Bytes>& allowed,
                      std::size_t n_threads, const std::string& kernel) {
    require(codes.shape(1) == queries.shape(1), "codes and queries have different widths");
    const WithinRequest request{codes_of(codes),
                                codes_of(queries),
                                radius,
                                filter_of(allowed, codes.shape(0)),
                                ids_of(ids, codes.shape(0)),
                                at_least_one(n_threads)};
    const Kernel& level = kernel_named(kernel);
    WithinResult result;
    interruptible([&](Interrupt& interrupt) { return within(level, request, result, interrupt); });
    return nb::make_tuple(hand_over(std::move(result.offsets)), hand_over(std::move(result.rows)),
                          hand_over(std::move(result.distances)));
}

nb::tuple bind_join(const Array<const std::uint8_t, 2>& left, const Array<const std::uint8_t, 2>& right,
                    const Ids& first, const Ids& last, const Array<const std::int64_t, 2>& todo, unsigned radius,
                    const Array<const std::uint8_t, 2>& masks, std::size_t limit, std::size_t n_threads,
                    const std::string& kernel) {
    const std::size_t n = left.shape(0);
    require(left.shape(1) == right.shape(1) && left.shape(1) == masks.shape(1), "codes have different widths");
    require(first.shape(0) == n && last.shape(0) == n, "every left row needs a range of right rows");
    require(todo.shape(1) == 2, "the rows to do have the wrong shape");
    require(masks.shape(0) >= 1 && limit >= 1, "at least one mask and one pair are needed");
    JoinRequest request{codes_of(left), codes_of(right),  first.data(), last.data(),            {},
                        radius,         codes_of(masks), limit,        at_least_one(n_threads)};
    for (std::size_t r = 0; r < todo.shape(0); ++r) {
        const std::int64_t begin = todo.data()[2 * r], end = todo.data()[2 * r + 1];
        require(begin >= 0 && begin <= end && end <= static_cast<std::int64_t>(n), "there are no such rows");
        for (std::int64_t p = begin; p < end; ++p)
            require(first.data()[p] >= 0 && last.data()[p] <= static_cast<std::int64_t>(right.shape(0)),
                    "a range leaves the right rows");
        request.todo.emplace_back(begin, end);
    }
    const Kernel& level = kernel_named(kernel);
    JoinResult result;
    interruptible([&](Interrupt& interrupt) { return join(level, request, result, interrupt); });
    std::vector<std::int64_t> rest;
    for (const RowRange& range : result.rest) {
        rest.push_back(static_cast<std::int64_t>(range.first));
        rest.push_back(static_cast<std::int64_t>(range.second));
    }
    return nb::make_tuple(hand_over(std::move(result.left)), hand_over(std::move(result.right)),
                          hand_over(std::move(result.distances)), hand_over(std::move(rest)));
}

void bind_unite(const Array<std::int64_t, 1>& parents, const Ids& i, const Ids& j) {
    require(i.shape(0) == j.shape(0), "pairs have different lengths");
    const auto n = static_cast<std::int64_t>(parents.shape(0));
    for (std::int64_t e = 0; e < n; ++e)
        require(parents.data()[e] >= 0 && parents.data()[e] <= e, "the parents are not those of sets");
    for (std::size_t p = 0; p < i.shape(0); ++p)
        require(i.data()[p] >= 0 && i.data()[p] < n && j.data()[p] >= 0 && j.data()[p] < n,
                "a pair has an unknown element");
    const nb::gil_scoped_release release;
    unite(parents.data(), i.data(), j.data(), i.shape(0));
}

void bind_distance_table(const Array<const std::uint8_t, 2>& codes,
                         const Array<const std::uint8_t, 2>& queries, const Ids& run_starts,
                         const Array<const std::uint64_t, 2>& run_labels,
                         const Array<const std::uint64_t, 2>& query_labels, bool any_bit,
                         std::size_t n_threads, const std::string& kernel,
                         const Array<std::int64_t, 3>& table) {
    require(codes.shape(1) == queries.shape(1), "codes and queries have different widths");
    const std::size_t n_runs = run_labels.shape(0);
    require(run_starts.shape(0) == n_runs + 1 && run_starts.data()[0] == 0 &&
                run_starts.data()[n_runs] == static_cast<std::int64_t>(codes.shape(0)),
            "the runs do not cover the rows");
    for (std::size_t run = 0; run < n_runs; ++run)
        require(run_starts.data()[run] < run_starts.data()[run + 1], "a run is empty");
    require(query_labels.shape(0) == queries.shape(0) && query_labels.shape(1) == run_labels.shape(1),
            "labels have the wrong shape");
    require(
        table.shape(0) == queries.shape(0) && table.shape(1) == 8 * codes.shape(1) + 1 && table.shape(2) >= 2,
        "the table has the wrong shape");
    const TableRequest request{codes_of(codes),   codes_of(queries),   run_starts.data(),   n_runs,
                               run_labels.data(), query_labels.data(), run_labels.shape(1), any_bit,
                               table.shape(2),    at_least_one(n_threads)};
    const Kernel& level = kernel_named(kernel);
    interruptible(
        [&](Interrupt& interrupt) { return distance_table(level, request, table.data(), interrupt); });
}

void bind_joint_counts(const Array<const std::uint8_t, 2>& x, const Array<const std::uint8_t, 2>& y, const Ids& i,
                       const Ids& j, const std::optional<Array<const double, 1>>& weights, std::size_t n_threads,
                       nb::ndarray<nb::ndim<3>, nb::c_contig, nb::device::cpu> result) {
    require(x.shape(0) == y.shape(0) && i.shape(0) == j.shape(0), "bins or pairs have different lengths");
    require(!weights || weights->shape(0) == i.shape(0), "a weight for every pair is needed");
    require(i.shape(0) <= UINT32_MAX, "at most 2^32 pairs are counted at a time");
    require(result.shape(0) == x.shape(0) && result.shape(1) == result.shape(2), "the result has the wrong shape");
    require(result.dtype() == (weights ? nb::dtype<double>() : nb::dtype<std::int64_t>()),
            "the result has the wrong type");
    const JointRequest request{x.data(), x.shape(1),  y.data(),   y.shape(1),      i.data(), j.data(),
                               weights ? weights->data() : nullptr, i.shape(0), x.shape(0), result.shape(1), at_least_one(n_threads)};
    interruptible([&](Interrupt& interrupt) {
        return weights ? joint_counts(request, static_cast<double*>(result.data()), interrupt)
                       : joint_counts(request, static_cast<std::int64_t*>(result.data()), interrupt);
    });
}

template <class Real>
void bind_bin(const Array<const Real, 2>& values, const Array<const Real, 1>& first, const Array<const Real, 1>& inverse,
              std::size_t n_bins, std::size_t n_own, std::size_t n_threads, const Array<std::uint8_t, 2>& bins,
              const std::optional<Array<double, 2>>& low, const std::optional<Array<double, 2>>& high) {
    const std::size_t rows = values.shape(0), n_bits = values.shape(1);
    require(n_bins >= 1 && n_bins <= 256, "there are 1 to 256 intervals");
    require(bins.shape(0) == n_bits && bins.shape(1) == rows, "the bins have the wrong shape");
    require(first.shape(0) == n_bits && inverse.shape(0) == n_bits, "a grid for every bit is needed");
    require(low.has_value() == high.has_value(), "both extremes or none are wanted");
    for (const auto* extremes : {&low, &high})
        require(!*extremes || ((*extremes)->shape(0) == n_bits && (*extremes)->shape(1) == n_bins),
                "the extremes have the wrong shape");
    const BinRequest<Real> request{values.data(), rows,         n_bits,
                                   first.data(),  inverse.data(), n_bins,
                                   n_own,         at_least_one(n_threads), bins.data(),
                                   low ? low->data() : nullptr, high ? high->data() : nullptr};
    interruptible([&](Interrupt& interrupt) { return bin_values<Real>(request, interrupt); });
}

void bind_count_bins(const Array<const std::uint8_t, 2>& bins, std::size_t n_own, const Array<std::int64_t, 2>& counts) {
    require(n_own <= bins.shape(1), "there are fewer rows");
    require(counts.shape(0) == bins.shape(0) && counts.shape(1) <= 256, "the counts have the wrong shape");
    const nb::gil_scoped_release release;
    count_bins(bins.data(), bins.shape(0), bins.shape(1), n_own, counts.shape(1), counts.data());
}

template <class Count>
void bind_error_shares(const Array<const Count, 3>& positive, const Array<const Count, 3>& negative, double miss_weight,
                       const Array<double, 3>& costs) {
    const std::size_t n_bits = positive.shape(0), n_bins = positive.shape(1);
    require(n_bins >= 1, "at least one interval is needed");
    for (const auto* counts : {&positive, &negative})
        require(counts->shape(0) == n_bits && counts->shape(1) == n_bins && counts->shape(2) == n_bins,
                "the counts have the wrong shape");
    require(costs.shape(0) == n_bits && costs.shape(1) == n_bins - 1 && costs.shape(2) == n_bins - 1,
            "the costs have the wrong shape");
    const nb::gil_scoped_release release;
    error_shares<Count>({positive.data(), negative.data(), n_bits, n_bins, miss_weight, costs.data()});
}

template <class Real>
void bind_column_moments(const Array<const Real, 2>& values, const Array<const Real, 1>& shift,
                         const Array<double, 1>& total, const std::optional<Array<double, 1>>& squares,
                         const std::optional<Array<Real, 1>>& low, const std::optional<Array<Real, 1>>& high) {
    const std::size_t d = values.shape(1);
    require(squares.has_value() == low.has_value() && low.has_value() == high.has_value(),
            "all moments or none are wanted");
    require(shift.shape(0) == d && total.shape(0) == d, "a number for every column is needed");
    require(!squares || (squares->shape(0) == d && low->shape(0) == d && high->shape(0) == d),
            "the moments have the wrong shape");
    const nb::gil_scoped_release release;
    column_moments<Real>({values.data(), values.shape(0), d, shift.data(), total.data(),
                          squares ? squares->data() : nullptr, low ? low->data() : nullptr,
                          high ? high->data() : nullptr});
}

template <class Real>
void bind_pack(const Array<const Real, 2>& values, const Array<const Real, 1>& thresholds,
               std::size_t n_threads, const std::string& kernel, const Array<std::uint8_t, 2>& codes) {
    const std::size_t rows = values.shape(0), n_bits = values.shape(1), width = (n_bits + 7) / 8;
    require(codes.shape(0) == rows && codes.shape(1) == width, "the codes have the wrong shape");
    require(thresholds.shape(0) == n_bits, "a threshold for every bit is needed");
    const Kernel& level = kernel_named(kernel);
    const nb::gil_scoped_release release;
    Interrupt interrupt(nullptr);
    // Below a megabyte of values a thread costs more time than it saves.
    n_threads = std::clamp<std::size_t>(values.nbytes() >> 20, 1, at_least_one(n_threads));
    run_threads(n_threads, interrupt, [&](std::size_t worker) {
        const std::size_t begin = rows * worker / n_threads, count = rows * (worker + 1) / n_threads - begin;
        const Real* first = values.data() + begin * n_bits;
        if constexpr (sizeof(Real) == 4)
            level.pack32(first, count, n_bits, thresholds.data(), codes.data() + begin * width);
        else
            level.pack64(first, count, n_bits, thresholds.data(), codes.data() + begin * width);
    });
}

std::uint64_t bind_read_all(const Bytes& data, bool prefetch, std::size_t n_threads) {
    const nb::gil_scoped_release release;
    return read_all(data.data(), data.shape(0), prefetch, at_least_one(n_threads));
}

std::vector<std::string> kernels() {
    std::vector<std::string> names;
    for (const Kernel* const* level = available_kernels(); *level; ++level)
        names.emplace_back((*level)->name);
    return names;
}

}  // namespace

NB_MODULE(_kernels, m) {
    m.doc() = "Native kernels of diffhash; use diffhash.native.";
    // Raise it, here and in native/dispatch.py, when a function or its arguments or results change. The package does not
    // use kernels with another number: they were compiled from other sources.
    m.attr("interface") = 2;
    m.def("kernels", &kernels, "Levels that this CPU can run, best first.");
    m.def("top_k", &bind_top_k, nb::arg("codes"), nb::arg("queries"), nb::arg("ids").none(),
          nb::arg("allowed").none(), nb::arg("n_threads"), nb::arg("kernel"), nb::arg("rows").noconvert(),
          nb::arg("distances").noconvert());
    m.def("within", &bind_within, nb::arg("codes"), nb::arg("queries"), nb::arg("radius"),
          nb::arg("ids").none(), nb::arg("allowed").none(), nb::arg("n_threads"), nb::arg("kernel"));
    m.def("join", &bind_join, nb::arg("left"), nb::arg("right"), nb::arg("first"), nb::arg("last"),
          nb::arg("todo"), nb::arg("radius"), nb::arg("masks"), nb::arg("limit"), nb::arg("n_threads"),
          nb::arg("kernel"));
    m.def("unite", &bind_unite, nb::arg("parents").noconvert(), nb::arg("i"), nb::arg("j"));
    m.def("distance_table", &bind_distance_table, nb::arg("codes"), nb::arg("queries"), nb::arg("run_starts"),
          nb::arg("run_labels"), nb::arg("query_labels"), nb::arg("any_bit"), nb::arg("n_threads"),
          nb::arg("kernel"), nb::arg("table").noconvert());
    m.def("joint_counts", &bind_joint_counts, nb::arg("x"), nb::arg("y"), nb::arg("i"), nb::arg("j"),
          nb::arg("weights").none(), nb::arg("n_threads"), nb::arg("result").noconvert());
    m.def("bin32", &bind_bin<float>, nb::arg("values"), nb::arg("first"), nb::arg("inverse"), nb::arg("n_bins"),
          nb::arg("n_own"), nb::arg("n_threads"), nb::arg("bins").noconvert(), nb::arg("low").none(),
          nb::arg("high").none());
    m.def("bin64", &bind_bin<double>, nb::arg("values"), nb::arg("first"), nb::arg("inverse"), nb::arg("n_bins"),
          nb::arg("n_own"), nb::arg("n_threads"), nb::arg("bins").noconvert(), nb::arg("low").none(),
          nb::arg("high").none());
    m.def("count_bins", &bind_count_bins, nb::arg("bins"), nb::arg("n_own"), nb::arg("counts").noconvert());
    m.def("error_shares_int", &bind_error_shares<std::int64_t>, nb::arg("positive"), nb::arg("negative"),
          nb::arg("miss_weight"), nb::arg("costs").noconvert());
    m.def("error_shares_float", &bind_error_shares<double>, nb::arg("positive"), nb::arg("negative"),
          nb::arg("miss_weight"), nb::arg("costs").noconvert());
    m.def("column_moments32", &bind_column_moments<float>, nb::arg("values"), nb::arg("shift"),
          nb::arg("total").noconvert(), nb::arg("squares").noconvert().none(), nb::arg("low").noconvert().none(),
          nb::arg("high").noconvert().none());
    m.def("column_moments64", &bind_column_moments<double>, nb::arg("values"), nb::arg("shift"),
          nb::arg("total").noconvert(), nb::arg("squares").noconvert().none(), nb::arg("low").noconvert().none(),
          nb::arg("high").noconvert().none());
    m.def("read_all", &bind_read_all, nb::arg("data"), nb::arg("prefetch"), nb::arg("n_threads"),
          "Reads the bytes and returns the xor of their words: for measuring memory.");
    m.def("pack32", &bind_pack<float>, nb::arg("values"), nb::arg("thresholds"), nb::arg("n_threads"),
          nb::arg("kernel"), nb::arg("codes").noconvert());
    m.def("pack64", &bind_pack<double>, nb::arg("values"), nb::arg("thresholds"), nb::arg("n_threads"),
          nb::arg("kernel"), nb::arg("codes").noconvert());
}
