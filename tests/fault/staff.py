"""What people do meanwhile: they approve and refuse, change their minds, and take
back from the dead."""

import collections
import threading
import time

REST_S = 0.02


class Staff(threading.Thread):
    def __init__(self, client, dice):
        """client: their own."""
        super().__init__(daemon=True)
        self.client, self.dice = client, dice
        self.unwanted = collections.deque()  # (when, id)
        self.dead = collections.deque()  # ids
        self.stopped = threading.Event()

    def cancel_later(self, id, after_s):
        self.unwanted.append((time.monotonic() + after_s, id))

    def requeue(self, id):
        """Once it has failed."""
        self.dead.append(id)

    def is_done(self):
        return not (self.unwanted or self.dead)

    def stop(self):
        self.stopped.set()
        self.join()

    def run(self):
        while not self.stopped.is_set():
            self.act()
            time.sleep(REST_S)

    def act(self):
        follower = self.client.follower
        while follower.asking:
            self.client.approve(follower.asking.popleft(), self.dice.random() > 0.3)
        while self.unwanted and self.unwanted[0][0] <= time.monotonic():
            self.client.cancel(self.unwanted[0][1])
            self.unwanted.popleft()
        for id in list(self.dead):
            if id in follower.ended:
                self.client.requeue(id)
                self.dead.remove(id)
