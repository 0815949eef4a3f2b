/* Heddle's C API: a compiled model on a device.
 *
 *     heddle_session *model = NULL;
 *     if (heddle_open("model.heddle", NULL, &model) != HEDDLE_OK) { puts(heddle_error_message()); return 1; }
 *     heddle_init(model, 1);
 *     int64_t shape[] = {3};
 *     heddle_tensor inputs[] = {{"source", HEDDLE_I32, 1, shape, tokens}, ...};
 *     heddle_outputs *outputs = NULL;
 *     if (heddle_call(model, "logits", inputs, count, &outputs) == HEDDLE_OK) {
 *       heddle_tensor logits;
 *       heddle_output_named(outputs, "logits", &logits);
 *       ...
 *       heddle_free_outputs(outputs);
 *     }
 *     heddle_close(model);
 *
 * An artifact has entries (`init`, `train_step`, `eval`, ...), which have inputs and outputs, and variables (weights,
 * optimizer state, caches), which stay on the device between calls. Entries, ports and variables are addressed by name.
 * A training step is a call of `train_step`, which updates the variables. A checkpoint is a file with the variables
 * (safetensors).
 *
 * Tensors are dense and row-major, in host byte order. The shapes of a call's inputs set the extents that vary (tokens,
 * sequences), up to the maxima that the model was compiled for. Every input is checked before anything runs.
 *
 * Ownership: the caller owns the session that heddle_open returns until heddle_close, and the outputs that heddle_call
 * returns until heddle_free_outputs. Pointers within them (names, shapes, data) live equally long. Pointers that the
 * caller passes are read before the function returns, and not kept.
 *
 * Errors: every function that can fail returns a heddle_status, and leaves its results untouched if it fails.
 * heddle_error_message says what went wrong in the last failed call of the same thread, and what to do about it. No
 * exception leaves a function. A session is used by one thread at a time; several sessions may be open at once.
 *
 * Stability: functions and structures only ever grow, and HEDDLE_API_VERSION with them. A structure that may grow
 * begins with its size, which the caller sets, so that a program also runs with newer libraries. */
#ifndef HEDDLE_H
#define HEDDLE_H

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#define HEDDLE_API
#else
#define HEDDLE_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
#define HEDDLE_NUMBER : int /* an enumeration has any number, as in C, not only its own */
extern "C" {
#else
#define HEDDLE_NUMBER
#endif

#define HEDDLE_API_VERSION 2

/* The API version of the loaded library. If it is at least HEDDLE_API_VERSION, the library has the whole header. */
HEDDLE_API uint32_t heddle_api_version(void);
/* The version of Heddle, such as "0.1.0". */
HEDDLE_API const char *heddle_version(void);

typedef enum heddle_status HEDDLE_NUMBER {
  HEDDLE_OK = 0,
  HEDDLE_INVALID_ARGUMENT = 1, /* a wrong name, shape, type or value */
  HEDDLE_NOT_FOUND = 2,        /* a file, entry, variable or device does not exist */
  HEDDLE_IO = 3,               /* reading or writing a file failed */
  HEDDLE_MALFORMED = 4,        /* a file is damaged or of another kind */
  HEDDLE_UNSUPPORTED = 5,      /* this device or this build cannot do it */
  HEDDLE_OUT_OF_MEMORY = 6,    /* of the device or of the host */
  HEDDLE_DEVICE_LOST = 7       /* the device stopped answering: close the session and open it again */
} heddle_status;

/* One paragraph about the last failed call of this thread: what failed, where, and what to do. Empty if none failed.
 * The text is valid until the thread's next failure. */
HEDDLE_API const char *heddle_error_message(void);

typedef enum heddle_element_type HEDDLE_NUMBER { HEDDLE_F32 = 0, HEDDLE_I32 = 1 } heddle_element_type;

/* A tensor in host memory: an input, owned by the caller, or an output, owned by its heddle_outputs. */
typedef struct heddle_tensor {
  const char *name;
  heddle_element_type type;
  size_t rank;
  const int64_t *shape; /* `rank` extents in elements, outermost first; NULL for a scalar */
  const void *data;     /* four bytes per element */
} heddle_tensor;

/*-- Devices --------------------------------------------------------------------------------------------------------*/

typedef struct heddle_device {
  size_t struct_size; /* sizeof(heddle_device), set by the caller */
  const char *id;     /* for heddle_options, such as "vulkan:0" */
  const char *name;   /* as the driver reports it */
} heddle_device;

/* The devices of this machine, the preferred ones first. `id` and `name` live until the same thread calls
 * heddle_device_count again. */
HEDDLE_API heddle_status heddle_device_count(size_t *count);
HEDDLE_API heddle_status heddle_device_at(size_t index, heddle_device *device);

/*-- Sessions -------------------------------------------------------------------------------------------------------*/

typedef struct heddle_session heddle_session;

typedef struct heddle_options {
  size_t struct_size;     /* sizeof(heddle_options) */
  const char *device;     /* a device's id, "vulkan", "cuda" or "cpu"; NULL: the best that the artifact has code for */
  const char *target;     /* a target of the artifact, "vulkan:software"; NULL: the best one for the device */
  int check_numbers;      /* not 0: the first NaN or infinity is an error that names the ops that made it; slow */
  int refuse_native_code; /* not 0: do not run CPU code, which can do whatever this process can */
} heddle_options;

/* Opens an artifact on a device. `options` may be NULL. heddle_prepare allocates memory and compiles kernels.
 * Fails in a forked process if the parent had a model open, because fork does not copy the device's threads. In such a
 * process heddle_close does nothing for the parent's models. End such a process with _exit or exec: exit runs the
 * drivers' handlers, which can wait for a lock that another thread of the parent held. */
HEDDLE_API heddle_status heddle_open(const char *path, const heddle_options *options, heddle_session **session);
/* The same for an artifact in memory, which is copied. */
HEDDLE_API heddle_status heddle_open_bytes(const void *data, size_t bytes, const heddle_options *options,
                                           heddle_session **session);
/* Waits for all runs and frees everything. NULL is allowed. */
HEDDLE_API void heddle_close(heddle_session *session);

/* The device's id, the target, and the model description as a JSON object. */
HEDDLE_API const char *heddle_session_device(const heddle_session *session);
HEDDLE_API const char *heddle_session_target(const heddle_session *session);
HEDDLE_API const char *heddle_session_description(const heddle_session *session);

/*-- Entries and variables ------------------------------------------------------------------------------------------*/

/* A dimension. If `size` is NULL, `extent` is fixed; else `size` names a run-time size whose maximum is `extent`. */
typedef struct heddle_dimension {
  const char *size;
  int64_t extent;
} heddle_dimension;

typedef struct heddle_port {
  size_t struct_size; /* sizeof(heddle_port) */
  const char *name;
  heddle_element_type type;
  size_t rank;
  const heddle_dimension *dimensions;
  int64_t value_limit; /* i32 inputs: values lie in [0, value_limit); 0: any value is allowed */
} heddle_port;

typedef enum heddle_direction HEDDLE_NUMBER { HEDDLE_INPUT = 0, HEDDLE_OUTPUT = 1 } heddle_direction;

HEDDLE_API size_t heddle_entry_count(const heddle_session *session);
/* NULL past the last entry. */
HEDDLE_API const char *heddle_entry_name(const heddle_session *session, size_t index);
HEDDLE_API heddle_status heddle_port_count(const heddle_session *session, const char *entry, heddle_direction direction,
                                           size_t *count);
HEDDLE_API heddle_status heddle_port_at(const heddle_session *session, const char *entry, heddle_direction direction,
                                        size_t index, heddle_port *port);

/* Kinds of variables, as bits. */
typedef enum heddle_kind HEDDLE_NUMBER {
  HEDDLE_WEIGHT = 1,
  HEDDLE_OPTIMIZER_STATE = 2,
  HEDDLE_GRADIENT = 4,
  HEDDLE_COUNTER = 8,
  HEDDLE_CACHE = 16,
  HEDDLE_FROZEN = 32 /* a weight that training does not change */
} heddle_kind;
#define HEDDLE_WEIGHTS_ONLY (HEDDLE_WEIGHT)
#define HEDDLE_TRAINING_STATE (HEDDLE_WEIGHT | HEDDLE_OPTIMIZER_STATE | HEDDLE_COUNTER)

typedef struct heddle_variable {
  size_t struct_size; /* sizeof(heddle_variable) */
  const char *name;
  heddle_kind kind;
  heddle_element_type type;
  size_t rank;
  const int64_t *shape;
  uint64_t bytes; /* on the device, where elements may be narrower than the host's 4 bytes */
} heddle_variable;

HEDDLE_API size_t heddle_variable_count(const heddle_session *session);
HEDDLE_API heddle_status heddle_variable_at(const heddle_session *session, size_t index, heddle_variable *variable);
HEDDLE_API heddle_status heddle_variable_named(const heddle_session *session, const char *name,
                                               heddle_variable *variable);
/* Waits for all runs and copies a variable's value to `data`, whose size `bytes` must be the value's. */
HEDDLE_API heddle_status heddle_read_variable(heddle_session *session, const char *name, void *data, size_t bytes);
/* Sets a variable. The name, type and shape of `value` must be the variable's. For a weight of packed numbers (i32,
   with scales), `value` may also be the matrix in f32, which this function packs. */
HEDDLE_API heddle_status heddle_write_variable(heddle_session *session, const heddle_tensor *value);

/*-- Calls ----------------------------------------------------------------------------------------------------------*/

/* Allocates the memory of entries and compiles their kernels. Otherwise an entry's first call does so. */
HEDDLE_API heddle_status heddle_prepare(heddle_session *session, const char *const *entries, size_t count);
/* Seeds the model's random numbers and draws initial weights (entry `init`). */
HEDDLE_API heddle_status heddle_init(heddle_session *session, uint64_t seed);

/* The outputs of a call. */
typedef struct heddle_outputs heddle_outputs;

/* Runs an entry and reads its outputs. Every input of the entry must be given, in any order. */
HEDDLE_API heddle_status heddle_call(heddle_session *session, const char *entry, const heddle_tensor *inputs,
                                     size_t count, heddle_outputs **outputs);
/* Starts an entry without waiting for the device, so that the host can prepare the next step meanwhile. */
HEDDLE_API heddle_status heddle_run(heddle_session *session, const char *entry, const heddle_tensor *inputs,
                                    size_t count);
/* Waits for the last run and returns its outputs. */
HEDDLE_API heddle_status heddle_read_outputs(heddle_session *session, heddle_outputs **outputs);
/* Waits for all runs. Fails if one of them failed. */
HEDDLE_API heddle_status heddle_wait(heddle_session *session);

HEDDLE_API size_t heddle_output_count(const heddle_outputs *outputs);
HEDDLE_API heddle_status heddle_output_at(const heddle_outputs *outputs, size_t index, heddle_tensor *tensor);
HEDDLE_API heddle_status heddle_output_named(const heddle_outputs *outputs, const char *name, heddle_tensor *tensor);
/* NULL is allowed. */
HEDDLE_API void heddle_free_outputs(heddle_outputs *outputs);

/*-- Training -------------------------------------------------------------------------------------------------------*/

/* Training is in libheddle-train.so, which also has all other functions: link one of the two libraries.
 *
 *     heddle_training training = {.struct_size = sizeof training};
 *     heddle_training_defaults(&training);
 *     training.checkpoint = "checkpoints";
 *     training.src.path = "train.en";
 *     training.tgt.path = "train.de";
 *     training.steps = 1000;
 *     heddle_train(model, &training, NULL);
 */

/* A text: a file, plain or compressed by gzip or Zstandard, or lines in memory. */
typedef struct heddle_text {
  const char *path; /* NULL: `lines` */
  /* Without line feeds. Records name image files relative to the working directory, and error messages name the text
   * /proc/self/fd/N. */
  const char *const *lines;
  size_t count; /* of `lines` */
} heddle_text;

typedef struct heddle_report {
  size_t struct_size;
  int is_validation; /* 0: the report is of a step, else of the validation after it */
  uint64_t step;     /* from 1 on */
  double loss;       /* of a step as trained, with label smoothing and dropout */
  /* The whole report, a line of `heddle-run train --log`: a JSON object, valid during the call. */
  const char *record;
} heddle_report;

/* Fields have the names and meanings of heddle-run's flags: `heddle-run train --help` explains them, and error messages
 * name `batch_tokens` as --batch-tokens. A text without path and lines is left out; other fields may be NULL if they
 * are paths or names. */
typedef struct heddle_training {
  size_t struct_size;
  const char *checkpoint; /* folder of the checkpoints; an earlier training in it is set aside unless `resume` */
  heddle_text src, tgt, text, data;                         /* src and tgt, or text, or data */
  heddle_text valid_src, valid_tgt, valid_text, valid_data; /* of the same kind, or none */
  const char *documents;                                    /* of `text`: "lines", "blank-lines" or "file" */
  const char *vocab, *vocab_type, *weights, *base, *chat_template;
  uint64_t steps; /* in all, including those before a resume */
  int64_t seed;   /* below 0: 1, or the seed of the checkpoint that is resumed */
  uint64_t accumulate, shuffle_window, validate_every, patience, save_every, keep_last;
  int64_t batch_sequences, batch_tokens; /* 0: the maxima that the model was compiled for */
  int resume, validate_bleu, force;      /* 0 or 1 */
  /* Called on this thread after each step and each validation; NULL: nothing is reported. The next step may already
   * run. If the function returns another value than 0, training ends after that step, with a checkpoint. It may call
   * the functions that take a const session, and heddle_read_variable and heddle_save, which wait for the step that
   * runs. It must not call any other function on the session: none that changes variables, runs entries or closes. */
  int (*report)(void *user, const heddle_report *report);
  void *user; /* first argument of `report` */
} heddle_training;

typedef enum heddle_training_end HEDDLE_NUMBER {
  HEDDLE_FINISHED = 0, /* all steps were taken */
  HEDDLE_STOPPED = 1,  /* `report` asked for it; `resume` goes on */
  HEDDLE_PATIENCE = 2  /* `patience` validations in a row were no better; checkpoint/best is the best one */
} heddle_training_end;

/* Sets all fields but `struct_size` to the defaults of heddle-run's flags. */
HEDDLE_API heddle_status heddle_training_defaults(heddle_training *training);
/* Trains the model as `heddle-run train` does with the same options, in one process: losses and checkpoints are the
 * same bits, and either may resume the other's training. Weights are drawn anew, or loaded as `weights` or `resume`
 * say. Afterwards the session has the weights of the last step. `end` may be NULL. Fails without a new checkpoint if
 * the loss is not finite or explodes; the checkpoints before it stay. Messages for people, such as warnings, go to
 * stderr. */
HEDDLE_API heddle_status heddle_train(heddle_session *session, const heddle_training *training,
                                      heddle_training_end *end);

/*-- Checkpoints and memory -----------------------------------------------------------------------------------------*/

/* Writes the variables of some kinds (bits of heddle_kind) to a safetensors file, all of it or nothing. */
HEDDLE_API heddle_status heddle_save(heddle_session *session, const char *path, uint32_t kinds);
/* Reads every variable of these kinds from a safetensors file. Changes nothing unless the file has them all. Weights
   may also come from the published model that the artifact was compiled from: its folder, its GGUF file, or a
   safetensors file with its names (model.safetensors). */
HEDDLE_API heddle_status heddle_load(heddle_session *session, const char *path, uint32_t kinds);

typedef struct heddle_memory {
  size_t struct_size; /* sizeof(heddle_memory) */
  uint64_t weights, optimizer_state, gradients, counters, caches;
  uint64_t arena; /* inputs, outputs and intermediate values of all entries */
  uint64_t peak;  /* the most that all buffers together have taken so far */
} heddle_memory;

/* Device memory in bytes. */
HEDDLE_API heddle_status heddle_session_memory(const heddle_session *session, heddle_memory *memory);

#ifdef __cplusplus
}
#endif

#endif
