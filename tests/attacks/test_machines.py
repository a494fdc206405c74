"""A few short stories of each machine; `scripts/soak` tells thousands."""

import pytest
from hypothesis import Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.attacks.machines import MACHINES, SIZE
from tests.support.sampling import rounds


@pytest.mark.thorough
@pytest.mark.parametrize("machine", MACHINES)
def test_the_service_does_what_the_model_does(app, moved_clock, machine):
    machine.app, machine.clock = app, moved_clock
    # The same stories each time: what is new is found by `scripts/soak`, not by chance.
    few = settings(
        SIZE, max_examples=rounds(5, 50), derandomize=True, database=None, phases=[Phase.generate]
    )
    run_state_machine_as_test(machine, settings=few)
