"""The launcher: whether it is a rank itself, which mpiexec it takes, and what it removes."""

import fcntl
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from treespan.core.machine import RANK_VARIABLES, is_first_rank
from treespan.runtimes import job_folder
from treespan.runtimes.job_folder import JOB_FOLDER, note_shared_memory, open_job_folder, remove_abandoned
from treespan.runtimes.launch import SIZE_VARIABLES, find_mpiexec, inside_mpi
from treespan.runtimes.mpi_binding import Library, MpiError

BATCH_STEP = str(0xFFFFFFFB)


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in (*RANK_VARIABLES, *SIZE_VARIABLES, "SLURM_STEP_ID", "SLURM_PTY_PORT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(job_folder, "SHARED_MEMORY", tmp_path / "shm")
    (tmp_path / "shm").mkdir()


@pytest.mark.parametrize(
    "variables, expected",
    [
        ({}, False),
        ({"PMI_RANK": "0", "PMI_SIZE": "4"}, True),  # MPICH's mpiexec; srun --mpi=pmi2
        ({"PMIX_RANK": "3"}, True),  # Open MPI 5's mpiexec; srun --mpi=pmix
        ({"OMPI_COMM_WORLD_RANK": "1"}, True),
        ({"SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "4"}, True),  # srun without an MPI plugin: refused later
        ({"SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "1"}, False),
        ({"SLURM_STEP_ID": BATCH_STEP, "SLURM_STEP_NUM_TASKS": "2"}, False),
        ({"SLURM_PROCID": "0", "SLURM_NTASKS": "8"}, False),  # a batch script
        ({"SLURM_PTY_PORT": "35000", "PMIX_RANK": "0", "SLURM_STEP_ID": "0"}, False),  # srun --pty bash
    ],
)
def test_ranks_know_that_they_are_ranks(
    variables: dict[str, str], expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert inside_mpi() is expected
    assert is_first_rank() is (variables.get("PMIX_RANK") != "3" and "OMPI_COMM_WORLD_RANK" not in variables)


def fake_mpiexec(path: Path, version: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho '{version}'\n")
    path.chmod(0o755)
    return path


def test_mpiexec_is_the_one_of_the_loaded_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python" / "bin" / "python"))
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    hydra, open_mpi = "HYDRA build details:", "mpiexec (OpenRTE) 4.1.4"
    other = fake_mpiexec(tmp_path / "opt" / "bin" / "mpiexec", open_mpi)
    own = fake_mpiexec(tmp_path / "opt" / "bin" / "mpiexec.mpich", hydra)
    library = str(tmp_path / "opt" / "lib" / "x86_64-linux-gnu" / "libmpi.so")
    assert find_mpiexec(Library("MPICH", "4.0.2", library)) == str(own)
    assert find_mpiexec(Library("Open MPI", "4.1.4", library)) == str(other)
    on_path = fake_mpiexec(tmp_path / "path" / "mpiexec", "mpiexec (Open MPI) 5.0.11")
    assert find_mpiexec(Library("Open MPI", "5.0.11", "/nowhere/libmpi.so.40")) == str(on_path)


def test_without_mpiexec_the_error_names_the_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MpiError, match=r"no mpiexec for the MPICH of /nowhere/libmpi.so.12"):
        find_mpiexec(Library("MPICH", "5.0.2", "/nowhere/libmpi.so.12"))


def test_at_its_end_a_job_removes_what_its_ranks_noted_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, foreign = tmp_path / "shm" / "mpich_shm_1_0", tmp_path / "shm" / "mpich_shm_2_0"
    ours.touch()
    foreign.touch()
    with open_job_folder() as job:
        (job.path / "rank-17").write_text("mpich_shm_1_0\nalready_gone\n")
        assert job.path.exists() and ours.exists()
    assert not job.path.exists() and not ours.exists() and foreign.exists()


def test_a_rank_notes_the_shared_memory_that_it_maps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    maps = (
        f"7f0-7f1 rw-s 00000000 00:1a 5  {tmp_path}/shm/mpich_shm_1_0\n"
        f"7f1-7f2 rw-s 00000000 00:1a 6  {tmp_path}/shm/ucx_shm (deleted)\n"
        "7f2-7f3 r-xp 00000000 00:1a 7  /usr/lib/libmpi.so.12\n"
    )
    monkeypatch.setattr(Path, "read_text", lambda path: maps if str(path) == "/proc/self/maps" else path.open().read())
    monkeypatch.setenv(JOB_FOLDER, str(tmp_path))
    note_shared_memory()
    assert (tmp_path / f"rank-{os.getpid()}").open().read() == "mpich_shm_1_0\n"


HOLD = """
import sys, time
from treespan.runtimes.job_folder import open_job_folder
with open_job_folder() as job:
    (job.path / "rank-1").write_text("segment\\n")
    print(job.path, flush=True)
    time.sleep(60)
"""


def test_what_a_killed_launcher_left_is_removed_by_the_next(tmp_path: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    process = subprocess.Popen([sys.executable, "-c", HOLD], stdout=subprocess.PIPE, text=True, env=environment)
    assert process.stdout is not None
    folder = Path(process.stdout.readline().strip())
    (tmp_path / "shm" / "segment").touch()
    assert remove_abandoned() == [] and folder.exists()  # its owner lives
    process.kill()
    process.communicate()
    assert remove_abandoned() == [folder]
    assert not folder.exists() and not (tmp_path / "shm" / "segment").exists()


def test_a_folder_without_a_lock_or_with_a_holder_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "treespan-job-new").mkdir()
    held = tmp_path / "treespan-job-held"
    held.mkdir()
    with (held / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert remove_abandoned() == []
    assert remove_abandoned() == [held]
