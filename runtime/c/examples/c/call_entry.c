/* The smallest useful program on Heddle's C API: opens a compiled model, draws its weights or loads a checkpoint, calls an entry with
 * zeros for every input, and prints the outputs.
 *
 *   call_entry model.heddle ENTRY [weights.safetensors] */
#include <heddle.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failed(heddle_status status) {
  if (status != HEDDLE_OK)
    fprintf(stderr, "call_entry: %s\n", heddle_error_message());
  return status != HEDDLE_OK;
}

/* Fills an input with zeros. Every extent that varies is 1: one token, one sequence. */
static int zeros(const heddle_port *port, heddle_tensor *tensor) {
  int64_t *shape = calloc(port->rank + 1, sizeof *shape);
  size_t count = 1, dim;
  void *data = NULL;
  for (dim = 0; shape && dim < port->rank; ++dim) {
    shape[dim] = port->dimensions[dim].size ? 1 : port->dimensions[dim].extent;
    count *= (size_t)shape[dim];
  }
  data = calloc(count + 1, 4);
  tensor->name = port->name;
  tensor->type = port->type;
  tensor->rank = port->rank;
  tensor->shape = shape;
  tensor->data = data;
  return shape && data ? 0 : 1;
}

static void print(const heddle_tensor *tensor) {
  size_t count = 1, i;
  printf("%s [", tensor->name);
  for (i = 0; i < tensor->rank; ++i) {
    count *= (size_t)tensor->shape[i];
    printf("%s%lld", i ? "," : "", (long long)tensor->shape[i]);
  }
  printf("]:");
  for (i = 0; i < count && i < 8; ++i)
    if (tensor->type == HEDDLE_F32)
      printf(" %g", ((const float *)tensor->data)[i]);
    else
      printf(" %d", ((const int32_t *)tensor->data)[i]);
  printf("\n");
}

static int call(heddle_session *model, const char *entry, const char *weights) {
  heddle_tensor *inputs = NULL;
  heddle_outputs *outputs = NULL;
  size_t count = 0, i;
  int bad;
  printf("running %s on %s\n", heddle_session_target(model), heddle_session_device(model));
  /* Prepare before loading weights, so that a model too large for the device fails at once. */
  if (failed(heddle_prepare(model, &entry, 1)))
    return 1;
  if (failed(weights ? heddle_load(model, weights, HEDDLE_WEIGHTS_ONLY) : heddle_init(model, 1)))
    return 1;
  if (failed(heddle_port_count(model, entry, HEDDLE_INPUT, &count)))
    return 1;
  inputs = calloc(count + 1, sizeof *inputs);
  bad = !inputs;
  for (i = 0; !bad && i < count; ++i) {
    heddle_port port;
    port.struct_size = sizeof port;
    bad = failed(heddle_port_at(model, entry, HEDDLE_INPUT, i, &port)) || zeros(&port, &inputs[i]);
  }
  bad = bad || failed(heddle_call(model, entry, inputs, count, &outputs));
  for (i = 0; !bad && i < heddle_output_count(outputs); ++i) {
    heddle_tensor output;
    bad = failed(heddle_output_at(outputs, i, &output));
    if (!bad)
      print(&output);
  }
  heddle_free_outputs(outputs);
  for (i = 0; inputs && i < count; ++i) {
    free((void *)inputs[i].shape);
    free((void *)inputs[i].data);
  }
  free(inputs);
  return bad;
}

int main(int argc, char **argv) {
  heddle_session *model = NULL;
  int bad;
  if (argc < 3 || argc > 4) {
    fprintf(stderr, "usage: call_entry MODEL.heddle ENTRY [WEIGHTS.safetensors]\n");
    return 2;
  }
  if (failed(heddle_open(argv[1], NULL, &model)))
    return 1;
  bad = call(model, argv[2], argc == 4 ? argv[3] : NULL);
  heddle_close(model);
  return bad;
}
