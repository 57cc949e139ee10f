import Dispatch
public import PCast
import Synchronization

extension UserMediaStream {
    /// Changes the sources while the stream runs. Blocks the caller until the devices are as they are asked to be: not for
    /// the threads of Swift's tasks, which have ``UserMediaStream/applyOptions(_:)``.
    ///
    /// - Returns: `ok`, `conflict` for a device that another program has, `failed` or `badRequest` for what cannot be had.
    @discardableResult
    public func applyOptions(_ options: PhenixUserMediaOptions!) -> PhenixRequestStatus {
        let wanted = (options ?? PhenixUserMediaOptions()).options
        let (answer, settled) = (Answer(), DispatchSemaphore(value: 0))
        Task {
            do throws(PCastError) {
                try await applyOptions(wanted)
            } catch {
                answer.status.withLock { $0 = error.status }
            }
            settled.signal()
        }
        settled.wait()
        return answer.status.withLock { $0 }
    }

    /// The same under the name that Apple's importer gives it.
    @discardableResult
    public func apply(_ options: PhenixUserMediaOptions!) -> PhenixRequestStatus { applyOptions(options) }
}

private final class Answer: Sendable {
    let status = Mutex(PhenixRequestStatus.ok)
}
