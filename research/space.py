"""A real cluster for `research/kubernetes`, and namespaces in it with a project and the rights that prony needs."""

import json
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
KUBERNETES = str(ROOT / "scripts" / "kubernetes")
PROJECT = ROOT / "tests" / "kubernetes" / "project"
# Longest wait for a command, and for an expected event, s.
PATIENCE, SOON = 240, 90
# Command lines of processes in a pod, written so that they do not match the searching script itself.
GENERATOR, AGENT = '*"load --jo"[b]*', '*"/prony agen"[t]" "'
FIND = 'for p in /proc/[0-9]*; do case "$(tr "\\0" " " <$p/cmdline 2>/dev/null)" in {}) echo "${{p#/proc/}}";; esac; done'
LAB = """[kubernetes]
kubeconfig = "{config}"
namespace = "{namespace}"
image = "{image}"
{more}
[host.app]
memory = "192MiB"
[host.load]
replicas = 2
memory = "192MiB"
[roles]
service = "app"
load = "load"
"""


def run(*words, check=True, **more):
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=PATIENCE, **more)
    if check and done.returncode != 0:
        raise AssertionError(f"`{' '.join(map(str, words))}` ended with {done.returncode}: {done.stderr.strip()}")
    return done


def until(what, holds, within=SOON):
    """Waits until a condition holds, and returns its value."""
    end = time.monotonic() + within
    while not (found := holds()):
        assert time.monotonic() < end, f"{what}: not within {within} s"
        time.sleep(0.3)
    return found


class Cluster:
    """The cluster, and the prony under test."""

    def __init__(self):
        self.is_own = not os.environ.get("KUBECONFIG")
        self.near = [KUBERNETES, "exec"] if self.is_own else []
        self.command = [KUBERNETES, "kubectl"] if self.is_own else ["kubectl"]
        self.image = "localhost/prony-test:1" if self.is_own else os.environ.get("PRONY_TEST_IMAGE")
        self.folder = Path(tempfile.mkdtemp(prefix="prony-kubernetes-"))
        self.prony = str(Path(os.environ.get("PRONY") or built()).resolve())
        # A cluster that was already running is kept.
        self.stays = not self.is_own or run(*self.near, "true", check=False).returncode == 0

    def __enter__(self):
        try:
            if self.is_own:
                subprocess.run([KUBERNETES, "up"], check=True)
                run(KUBERNETES, "image", self.image, self.filled())
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if not self.stays:
            subprocess.run([KUBERNETES, "down"], check=True)
        shutil.rmtree(self.folder, ignore_errors=True)

    def filled(self):
        """The root of an image with prony, a shell, and the libraries of both."""
        root = self.folder / "image"
        shell = shutil.which("busybox")
        # getconf reports the version of the C library.
        for program, place in [(self.prony, "usr/bin/prony"), (shell, "bin/busybox"), (shutil.which("getconf"), "usr/bin/getconf")]:
            (root / place).parent.mkdir(parents=True, exist_ok=True)
            # Debug information would only enlarge the image.
            run("strip", "-o", root / place, program)
            for word in run("ldd", program, check=False).stdout.split():
                if word.startswith("/"):
                    (root / word[1:]).parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy(word, root / word[1:])
        for name in run(shell, "--list").stdout.split():
            if name != "busybox":
                (root / "bin" / name).symlink_to("busybox")
        return root

    def kubectl(self, *words, **more):
        return run(*self.command, *words, **more).stdout


def built():
    """A prony with support for clusters."""
    command = ["cargo", "build", "--locked", "--package", "prony", "--features", "kubernetes", "--message-format=json-render-diagnostics"]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    found = [json.loads(line).get("executable") for line in done.stdout.splitlines()]
    return next(file for file in found if file)


class Space:
    """A namespace, its user, and a project with a testbed file."""

    # The number of namespaces so far: a new one does not wait for the deletion of an earlier one.
    made = 0

    def __init__(self, cluster, name, may=True, **lab):
        Space.made += 1
        self.cluster, self.name = cluster, f"prony-test-{os.getpid()}-{name}-{Space.made}"
        self.project = cluster.folder / f"project-{name}-{Space.made}"
        self.children = []
        shutil.copytree(PROJECT, self.project)
        cluster.kubectl("create", "namespace", self.name)
                    # The strictest setting of namespaces.
        cluster.kubectl("label", "namespace", self.name, "pod-security.kubernetes.io/enforce=restricted")
        cluster.kubectl("--namespace", self.name, "create", "serviceaccount", "prony")
        self.config = self.project / "config"
        self.config.touch(mode=0o600)
        self.config.write_text(self.credentials(self.kubectl("create", "token", "prony", "--duration=2h").strip()))
        self.lab(**lab)
        if may:
            self.kubectl("apply", "--filename=-", input=self.prony("testbed", "rbac", "--testbed", "testbed.toml").stdout)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for child in self.children:
            child.kill()
            child.communicate()
        self.kubectl("delete", "namespace", self.name, "--ignore-not-found", "--wait=false")

    def kubectl(self, *words, **more):
        return self.cluster.kubectl("--namespace", self.name, *words, **more)

    def credentials(self, token):
        view = ["config", "view", "--raw", "--minify", "--flatten", "--output=json"]
        config = json.loads(self.cluster.kubectl(*view))
        config["users"][0]["user"] = {"token": token}
        return json.dumps(config)

    def lab(self, file="testbed.toml", image=None, config=None, namespace=None, prony=True, cpus=1, node=None, **more):
        """Writes a testbed file; `cpus` and `node` are for the service's pod, `more` are keys of [kubernetes]."""
        keys = {"pull": "IfNotPresent", "within": "60s", "deadline": "20m", **more}
        if prony:
            keys["prony"] = "/usr/bin/prony"
        text = LAB.format(
            config=config or self.config,
            namespace=namespace or self.name,
            image=image or self.cluster.image,
            more="\n".join(f'{key} = "{value}"' for key, value in keys.items()),
        )
        app = f"cpus = {cpus}\n" + (f'node = {{ "kubernetes.io/hostname" = "{node}" }}\n' if node else "")
        (self.project / file).write_text(text.replace("[host.load]", f"{app}[host.load]"))

    def start(self, *words):
        """Starts prony in the cluster's network."""
        folder = self.cluster.folder
        environment = {name: value for name, value in os.environ.items() if name not in ("KUBECONFIG", "PRONY_STORE", "PRONY_TESTBED")}
        environment |= {"NO_COLOR": "1", "PRONY_LOCKS": f"{folder}/locks", "PRONY_AGENT_CACHE": f"{folder}/agents"}
        # Services of a testbed file without pods start it by its name.
        environment["PATH"] = f"{Path(self.cluster.prony).parent}:{environment['PATH']}"
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        command = [*self.cluster.near, self.cluster.prony, *words]
        self.children.append(subprocess.Popen(command, cwd=self.project, env=environment, text=True, **pipes))
        return self.children[-1]

    def prony(self, *words, code=0):
        return self.ended(self.start(*words), code)

    def ended(self, child, code=0):
        """Waits for a prony, which must exit with this code."""
        try:
            out, err = child.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            child.kill()
            out, err = child.communicate()
            raise AssertionError(f"it did not end within {PATIENCE} s: {err[-3000:]}") from None
        done = subprocess.CompletedProcess(child.args, child.returncode, out, err)
        assert done.returncode == code, f"it ended with {done.returncode}, not {code}:\n{err[-3000:]}{out[-1000:]}"
        return done

    def run(self, suite="one", lab="testbed.toml"):
        return self.start("run", suite, "--testbed", lab, "--json", "--keep-disturbed")

    def pods(self):
        """Running pods, by their name in prony: their name in the cluster, and their node."""
        found = {}
        for pod in json.loads(self.kubectl("get", "pods", "--output=json"))["items"]:
            labels, running = pod["metadata"]["labels"], pod["status"].get("phase") == "Running"
            number = pod["metadata"]["annotations"].get("batch.kubernetes.io/job-completion-index")
            name = labels["prony/group"] if labels["prony/group"] == "app" else f"{labels['prony/group']}-{number}"
            if running:
                found[name] = pod["metadata"]["name"], pod["spec"]["nodeName"]
        return found

    def within(self, pod, script):
        return self.kubectl("exec", pod, "--", "sh", "-c", script).strip()

    def loaded(self):
        """Waits until both workers make load, and returns the pods."""
        pods = until("three pods run", lambda: len(found := self.pods()) == 3 and found)
        for worker in ("load-0", "load-1"):
            self.within(pods[worker][0], f"until [ -n \"$({FIND.format(GENERATOR)})\" ]; do sleep 0.1; done")
        return pods

    def left(self):
        """Objects of prony in the namespace."""
        return self.kubectl("get", "jobs,pods", "--output=name").split()

    def nothing_is_left(self):
        until("nothing is left", lambda: not self.left())
