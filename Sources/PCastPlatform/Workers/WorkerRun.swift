import PCastIO
import PCastMedia

/// One worker, from its start until its process has ended.
struct WorkerRun {
    let work: StreamWork
    let credential: String
    let application: ApplicationID
    let isDetached: Bool
    var process: ChildProcess?
    /// Whoever asked waits for its first word.
    var asker: CheckedContinuation<Bool, Never>?
    /// The answer, when it comes before it is waited for.
    var answer: Bool?
    /// Why it ended, in its own words.
    var lastWord: (reason: String, description: String)?
    /// Its process is no more.
    var hasExited = false
    /// Its client was told of the end, or was never told of the stream.
    var isOver = false

    /// Answers whoever asked, once.
    mutating func settle(_ isRunning: Bool) {
        guard answer == nil else { return }
        answer = isRunning
        asker?.resume(returning: isRunning)
        asker = nil
    }
}
