// Rotary positions: the table of rotations, and turning heads by it.
#include "kernels/ops/rotary.h"

#include "kernels/cpu/register_isa.h"
#include "kernels/cpu/rows.h"
#include "kernels/ops/params.h"

namespace ulpscope::cpu::ULPSCOPE_ISA {
namespace {

template <class T>
void run_table(const Launch& launch) {
  const char* operation = "rotary_table";
  expect_operands(operation, launch, 0, 2);
  expect_shape(operation, "sin", launch.out[1].shape, launch.out[0].shape);
  const RowShape shape = row_shape(operation, launch.out[0].shape);
  const double ratio = static_cast<const RotaryTableParams*>(launch.params)->ratio;
  const View cosine = view_of(launch.out[0]), sine = view_of(launch.out[1]);
  run_units(launch, shape.rows, shape.rows * shape.length * 16,
            [&](int, std::int64_t first, std::int64_t last, RoundingTally* const* tally) {
              for (std::int64_t position = first; position < last; ++position) {
                for (std::int64_t i = 0; i < shape.length; ++i) {
                  const Rotation<T> r = rotation<T>(ratio, position, i);
                  write_element(cosine, position * shape.length + i, r.cosine, tally[0]);
                  write_element(sine, position * shape.length + i, r.sine, tally[1]);
                }
              }
            });
}

template <class T>
struct Rotary {
  const T* cosine;
  const T* sine;
  std::int64_t heads;
  std::int64_t positions;
  bool inverse;
};

template <class T>
void rotary_function(const void* pointer, const RunArgs<T>& a) {
  const Rotary<T>& r = *static_cast<const Rotary<T>*>(pointer);
  const std::int64_t at = a.row / r.heads % r.positions * (a.n / 2);
  rotary_row(SerialTeam{}, a.in[0], r.cosine + at, r.sine + at, r.inverse, a.out[0], a.n);
}

/// The table, widened: cosines, then sines.
inline std::size_t table_length(const Launch& launch) { return padded(launch.in[1].elements()); }

/// scratch: twice table_length.
template <class T>
Rotary<T> make_rotary(const Launch& launch, T* scratch) {
  const char* operation = "rotary";
  expect_operands(operation, launch, 3, 1);
  const Shape& shape = launch.out[0].shape;
  if (shape.rank != 4 || shape.dim[3] % 2 != 0) fail(operation, "takes [B, T, H, D] with an even D");
  const Shape table = matrix_shape(shape.dim[1], shape.dim[3] / 2);
  expect_shape(operation, "cos", launch.in[1].shape, table);
  expect_shape(operation, "sin", launch.in[2].shape, table);
  const std::int64_t n = table.elements();
  return {read_run(view_of(launch.in[1]), 0, n, scratch),
          read_run(view_of(launch.in[2]), 0, n, scratch + table_length(launch)), shape.dim[2], shape.dim[1],
          static_cast<const RotaryParams*>(launch.params)->inverse};
}

template <class T>
std::size_t rotary_workspace(const Launch& launch) {
  return 2 * table_length(launch) * sizeof(T) + row_workspace(launch, row_length(launch.out[0]), 2, 0, sizeof(T));
}

template <class T>
void run_rotary(const Launch& launch) {
  expect_workspace("rotary", launch);
  T* scratch = static_cast<T*>(launch.workspace);
  const Rotary<T> rotary = make_rotary<T>(launch, scratch);
  const int positions[] = {0};
  run_rows(launch, row_operands("rotary", launch, 1, positions), 3, scratch + 2 * table_length(launch),
           rotary_function<T>, &rotary);
}

void prepare_rotary(const Launch& launch, void* scratch, void* body) {
  *static_cast<Rotary<float>*>(body) = make_rotary<float>(launch, static_cast<float*>(scratch));
}
std::size_t table_bytes(const Launch& launch) { return 2 * table_length(launch) * sizeof(float); }

constexpr StageFunctions rotary_functions{3, prepare_rotary, rotary_function<float>, table_bytes};
constexpr Stage rotary_stage{true, 1, {0}, &rotary_functions};

template <class T>
void add_rotary(KernelTable& table) {
  constexpr bool fuses = format_of<T>() == Format::fp32;
  add_kernel(table, "rotary_table", format_of<T>(), run_table<T>);
  add_kernel(table, "rotary", format_of<T>(), run_rotary<T>, rotary_workspace<T>, fuses ? &rotary_stage : nullptr);
}

}  // namespace

void register_rotary(KernelTable& table) {
  add_rotary<float>(table);
  add_rotary<double>(table);
}

}  // namespace ulpscope::cpu::ULPSCOPE_ISA
