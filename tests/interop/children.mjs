// The programs that tests have started, so that each of them ends whatever becomes of its test.

/** Gives the id of a child process while it runs. */
export const pidOf = (child) => (child.exitCode === null && child.signalCode === null ? child.pid : undefined)

const all = new Set()
process.on('exit', () => all.forEach((children) => children.end()))

/** What one test, or one cell of a matrix, has started. */
export class Children {
  #pids = new Set()

  constructor() {
    all.add(this)
  }

  /** Keeps a program by a function that gives its id, and nothing once it has ended. */
  add(pid) {
    this.#pids.add(pid)
  }

  /** Ends by their ids those that still run, and gives these. */
  end() {
    const ended = []
    for (const pid of this.#pids) {
      const id = pid()
      if (!id) continue
      try {
        process.kill(id, 'SIGKILL')
        ended.push(id)
      } catch (error) {
        if (error.code !== 'ESRCH') throw error
      }
    }
    this.#pids.clear()
    return ended
  }
}

/** Waits for a promise, and no longer than it may take. */
export async function within(ms, what, promise) {
  let timer
  const late = new Promise((_, fail) => {
    timer = setTimeout(() => fail(new Error(`not within ${ms} ms: ${what}`)), ms)
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}
