import Dispatch
public import PCast
import Synchronization

extension UserMediaStream {
    /// Changes the sources while the stream runs.
    ///
    /// The function blocks until the devices have the new options. It must not be called on a thread of Swift's
    /// concurrency; ``UserMediaStream/applyOptions(_:)`` is for those.
    ///
    /// - Parameter options: The new options; nil for the default ones.
    /// - Returns: `ok`, `conflict` for a device in use by another program, or `failed` or `badRequest` for unavailable
    ///   options.
    @discardableResult
    public func applyOptions(_ options: PhenixUserMediaOptions!) -> PhenixRequestStatus {
        let wanted = (options ?? PhenixUserMediaOptions()).options
        let (answer, settled) = (StatusBox(), DispatchSemaphore(value: 0))
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

    /// Changes the sources while the stream runs, by the name that Swift's importer of Objective-C gives the function.
    @discardableResult
    public func apply(_ options: PhenixUserMediaOptions!) -> PhenixRequestStatus { applyOptions(options) }
}

/// The status that the task of a call sets.
private final class StatusBox: Sendable {
    let status = Mutex(PhenixRequestStatus.ok)
}
