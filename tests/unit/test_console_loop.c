/* Lines of training loops written by hand. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "importers/registry.h"
#include "tests/harness/dumped.h"

static void read_log(const char *text)
{
    dumped_read_text(&importer_console_log, "train.log", text);
}

static void a_line_per_epoch_gives_both_losses(void **state)
{
    (void)state;
    read_log("Epoch 1/3 | train_loss 1.234 | val_loss 1.345 | lr 2e-4 | 12.5s\n"
             "Epoch: 2, Train Loss: 1.23, Val Loss: 1.34\n"
             "Epoch 3 - loss: 0.69 - val_loss: 0.61 - acc: 0.9\n"
             "EPOCH 4: Average training loss = nan, validation loss = inf\n");
    dumped_has("point\tloss\tseq 0\tsegment 0\tstep -\t1.234\tline 1");
    dumped_has("point\teval_loss\tseq 0\tsegment 0\tstep -\t1.345\tline 1");
    dumped_has("point\tlearning_rate\tseq 0\tsegment 0\tstep -\t0.0002");
    dumped_has("point\tepoch\tseq 1\tsegment 0\tstep -\t2.0\tline 2");
    dumped_has("point\teval_loss\tseq 1\tsegment 0\tstep -\t1.34");
    dumped_has("point\tloss\tseq 2\tsegment 0\tstep -\t0.69");
    dumped_has("point\teval_loss\tseq 2\tsegment 0\tstep -\t0.61");
    dumped_has("point\tloss\tseq 3\tsegment 0\tstep -\tnan");
    dumped_has("point\teval_loss\tseq 3\tsegment 0\tstep -\tinf");
    assert_int_equal(dumped_count("series\t"), 4);
}

static void a_step_is_read_with_its_total(void **state)
{
    (void)state;
    read_log("Step 20/400 | Loss: 3.5948 | Grad Norm: 1.129 | LR: 1e-4\n"
             "step 30/400: train loss 3.4, val loss 3.6\nStep: 40, Loss: -0.25\n");
    dumped_has("point\tloss\tseq 0\tsegment 0\tstep 20\t3.5948\tline 1");
    dumped_has("point\tgrad_norm\tseq 0\tsegment 0\tstep 20\t1.129");
    dumped_has("point\teval_loss\tseq 1\tsegment 0\tstep 30\t3.6\tline 2");
    dumped_has("point\tloss\tseq 2\tsegment 0\tstep 40\t-0.25\tline 3");
    dumped_has("last-progress\t-\tstep 30\tline 2\tbyte 57\t\t30\t400");
}

static void steps_that_begin_anew_in_each_epoch_go_on(void **state)
{
    (void)state;
    read_log("Epoch [1/2], Step [100/250], Loss: 0.5\nEpoch [1/2], Step [200/250], Loss: 0.4\n"
             "Epoch [2/2], Step [100/250], Loss: 0.3\nEpoch [2/2], Step [200/250], Loss: 0.2\n");
    dumped_has("point\tloss\tseq 1\tsegment 0\tstep 200\t0.4");
    dumped_has("point\tloss\tseq 2\tsegment 0\tstep 350\t0.3");
    dumped_has("point\tloss\tseq 3\tsegment 0\tstep 450\t0.2");
    read_log("epoch 1 step 100 loss 0.5\nepoch 1 step 200 loss 0.4\nepoch 2 step 300 loss 0.3\n");
    dumped_has("point\tloss\tseq 2\tsegment 0\tstep 300\t0.3");
}

static void a_line_takes_the_step_of_the_bar_of_its_epoch(void **state)
{
    (void)state;
    read_log("Epoch 1/2: 100%|####| 50/50 [00:10<00:00,  5.00it/s]\n"
             "Epoch 1: train loss 0.9, val loss 0.8\n"
             "Epoch 2/2: 100%|####| 50/50 [00:10<00:00,  5.00it/s]\n"
             "Epoch 2: train loss 0.7, val loss 0.6\ndone\n");
    dumped_has("point\tloss\tseq 0\tsegment 0\tstep 50\t0.9");
    dumped_has("point\teval_loss\tseq 1\tsegment 0\tstep 100\t0.6");
}

static void other_lines_are_no_rows(void **state)
{
    (void)state;
    read_log("Step 1: compute the loss in 3 ways\nEpoch loss is below 5\n"
             "Epoch 3 took 12.3s, no loss 4\nStepping into loss 4\nEpochs: 3, loss: mse\n"
             "step 5 of the loss\nLoss 3 Step 4 Epoch 5\nEpoch 1: loss 5%\n");
    dumped_has_not("point\t");
}

static void the_head_of_a_logger_is_passed_over(void **state)
{
    (void)state;
    read_log("2025-03-02 02:08:31 INFO  epoch 0 step 20/3000 loss 1.9204 lr 4.4e-06 grad_norm 0.81\n"
             "[2025-03-02 02:09:31,120][trainer.py:88] INFO - step=40 loss=1.8\n"
             "INFO:root:step 60 | train/loss 1.7 | lr 1e-5\n"
             "[train] it=80  loss=1.60000  ppl=4.95  gnorm=1.4\n"
             "2025-03-02 02:10:31.123 | INFO     | __main__:train:88 - Step 100 Loss 1.5 (1.61)\n"
             "I0302 02:08:31.123456 1234 train.py:88] global step 120 loss 1.4\n");
    dumped_has("point\tloss\tseq 0\tsegment 0\tstep 20\t1.9204\tline 1");
    dumped_has("point\tloss\tseq 1\tsegment 0\tstep 40\t1.8\tline 2");
    dumped_has("point\tloss\tseq 2\tsegment 0\tstep 60\t1.7\tline 3");
    dumped_has("point\tgrad_norm\tseq 3\tsegment 0\tstep 80\t1.4");
    dumped_has("point\tloss\tseq 4\tsegment 0\tstep 100\t1.5\tline 5");
    dumped_has("point\tloss\tseq 5\tsegment 0\tstep 120\t1.4\tline 6");
}

static void a_loss_of_held_out_rows_is_no_training_loss(void **state)
{
    (void)state;
    read_log("[eval] step 100 loss 1.45\n"
             "INFO validation: epoch 1 loss 1.35\n"
             "step 200 val/loss 1.25\n");
    dumped_has("point\teval_loss\tseq 0\tsegment 0\tstep 100\t1.45");
    dumped_has("point\teval_loss\tseq 1\tsegment 0\tstep -\t1.35");
    dumped_has("point\teval_loss\tseq 2\tsegment 0\tstep 200\t1.25");
    dumped_has_not("point\tloss");
}

static void a_count_over_all_epochs_beats_one_inside_the_epoch(void **state)
{
    (void)state;
    read_log("Training epoch 1, iteration 9/99 | lr: 0.0001 | global_batch_size: 8 | global_step: "
             "109 | reduced_train_loss: 1.93 | train_step_timing in s: 5.2 | val_loss: 1.8\n"
             "Training epoch 1, iteration 10/99 | lr: 0.0001 | global_batch_size: 8 | global_step: "
             "110 | reduced_train_loss: 1.92 | train_step_timing in s: 5.2 | val_loss: 1.8\n"
             "Training epoch 1, iteration 11/99 | lr: 0.0001 | global_batch_size: 8 | global_step: "
             "111 | reduced_train_loss: 1.91 | train_step_timing in s: 5.2 | val_loss: 1.7\n");
    dumped_has("point\tloss\tseq 0\tsegment 0\tstep 109\t1.93\tline 1");
    dumped_has("point\teval_loss\tseq 0\tsegment 0\tstep 109\t1.8\tline 1");
    dumped_has_not("point\teval_loss\tseq 1"); /* the one of before, printed again */
    dumped_has("point\teval_loss\tseq 2\tsegment 0\tstep 111\t1.7\tline 3");
}

static void losses_behind_a_bar_have_names_of_their_trainers(void **state)
{
    (void)state;
    read_log("\rEpoch 0:  25%|##5       | 100/400 [00:25<01:00,  4.10it/s, v_num=1, "
             "train_loss_step=2.500]\rEpoch 0:  26%|##6       | 104/400 [00:26<01:00,  4.10it/s, "
             "v_num=1, train_loss_step=nan.0]\n");
    dumped_has("series\ttrain_loss_step\tloss");
    dumped_has("point\ttrain_loss_step\tseq 0\tsegment 0\tstep 100\t2.5");
    dumped_has("point\ttrain_loss_step\tseq 1\tsegment 0\tstep 104\tnan");
    read_log("\rSteps:  50%|#####     | 5/10 [00:06<00:06,  1.31s/it, lr=1e-5, step_loss=0.5]\n");
    dumped_has("series\tstep_loss\tloss");
    dumped_has("point\tstep_loss\tseq 0\tsegment 0\tstep 5\t0.5");
}

static void losses_below_a_line_of_their_epoch_are_of_it(void **state)
{
    (void)state;
    read_log("Epoch: 01 | Time: 1m 10s\n\tTrain Loss: 1.500 | Train PPL:   4.482\n"
             "\t Val. Loss: 1.250 |  Val. PPL:   3.490\n"
             "Epoch: 02 | Time: 1m 11s\n\tTrain Loss: 1.125 | Train PPL:   3.080\n"
             "\t Val. Loss: 1.375 |  Val. PPL:   3.955\n\tTrain Loss: 9.0\n");
    dumped_has("point\tloss\tseq 0\tsegment 0\tstep -\t1.5\tline 2");
    dumped_has("point\teval_loss\tseq 1\tsegment 0\tstep -\t1.25\tline 3");
    dumped_has("point\tepoch\tseq 2\tsegment 0\tstep -\t2.0\tline 5");
    dumped_has("point\teval_loss\tseq 3\tsegment 0\tstep -\t1.375\tline 6");
    dumped_has_not("\t9.0");
    read_log("Epoch 1/8\n50/50 [====] - 30s 610ms/step - loss: 1.9200 - val_loss: 1.7100\n");
    dumped_has("point\tloss\tseq 0\tsegment 0\tstep -\t1.92");
    dumped_has("point\teval_loss\tseq 0\tsegment 0\tstep -\t1.71");
}

static void sentences_with_a_step_and_a_loss_are_no_rows(void **state)
{
    (void)state;
    read_log("Saved the best model at step 100, loss 1.2\n"
             "INFO best checkpoint so far is of step 100 with loss 1.2\n"
             "Restored from epoch 3, loss 1.2\n"
             "- At step 100 the loss 1.2 was low\n");
    dumped_has_not("point\t");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_per_epoch_gives_both_losses),
        cmocka_unit_test(a_step_is_read_with_its_total),
        cmocka_unit_test(steps_that_begin_anew_in_each_epoch_go_on),
        cmocka_unit_test(a_line_takes_the_step_of_the_bar_of_its_epoch),
        cmocka_unit_test(other_lines_are_no_rows),
        cmocka_unit_test(the_head_of_a_logger_is_passed_over),
        cmocka_unit_test(a_loss_of_held_out_rows_is_no_training_loss),
        cmocka_unit_test(a_count_over_all_epochs_beats_one_inside_the_epoch),
        cmocka_unit_test(losses_below_a_line_of_their_epoch_are_of_it),
        cmocka_unit_test(losses_behind_a_bar_have_names_of_their_trainers),
        cmocka_unit_test(sentences_with_a_step_and_a_loss_are_no_rows),
    };
    return cmocka_run_group_tests(tests, dumped_set_up, dumped_tear_down);
}
