public import PCastCore
import PCastIO
import PCastSignaling

extension Publisher {
    /// The time before its capture time at which a cue of a file is sent, so that it arrives before its frame.
    private static let lead = TimeSpan.seconds(2)
    /// The longest pause between two looks at the end of the stream.
    private static let longestPause = TimeSpan.seconds(1)
    /// The pause before a cue is sent again of which the platform has received too many.
    private static let retryPause = Duration.milliseconds(200)

    /// The capture time of the first frame, in UTC; waits for it. Nil if the stream ended before, or if the platform
    /// pulls or pushes the media itself.
    public var startTime: WallTime? { get async { await publishing?.start.time.settled ?? nil } }

    /// Sends captions to all present and later viewers of the stream.
    ///
    /// Each viewer sees a caption on the frames that were captured within its time, however late they are displayed.
    /// Captions should be sent before their capture time. The platform keeps the newest 64 of a stream until 15 s after
    /// their end.
    ///
    /// - Parameter cues: At most ``CaptionCue/maximumCount`` captions, whose capture times are at most
    ///   ``CaptionCue/maximumDistance`` from now. A stream has ten per second, and 50 at once.
    /// - Throws: ``PCastError`` with the status `badRequest` for an invalid caption, `rateLimited` for too many, `gone`
    ///   after the end of the stream, or `failed` without a connection. No caption is sent then.
    public func sendCaptions(_ cues: [CaptionCue]) async throws(PCastError) {
        for cue in cues {
            if let problem = cue.problem { throw PCastError(.badRequest, .usage, problem) }
        }
        var message = PCastSendCaptions()
        message.streamID = streamID.description
        message.timestamp = MonotonicClock.wallTime().wire
        message.cues = cues.map { PCastCaptionCue($0) }
        guard case .sendCaptions(let response) = try await session.perform(.sendCaptions(message)).get() else {
            throw PCastError(.malformedResponse, during: "SendCaptions")
        }
        if RequestStatus(wire: response.status) != .ok {
            throw PCastError(refusal: response.status, of: "SendCaptions", because: response.refusalReason)
        }
    }

    /// Sends the captions of a file, each shortly before its capture time. It returns after the last one, when the task
    /// is cancelled, or when the stream has ended. Captions whose time has passed are left out.
    ///
    /// - Parameters:
    ///   - text: The cues of the file.
    ///   - origin: The capture time of the start of the file; nil for ``startTime``.
    ///   - sent: A function that receives each cue after the platform has accepted it.
    /// - Throws: ``PCastError``; see ``sendCaptions(_:)``. A lost connection is no error: what is due meanwhile is left
    ///   out.
    public func sendCaptions(
        _ text: TimedText, from origin: WallTime? = nil, sent: (CaptionCue) -> Void = { _ in }
    ) async throws(PCastError) {
        var start = origin
        if start == nil { start = await startTime }
        guard let start else { return }
        for cue in text.cues {
            let cue = CaptionCue(text: cue.text, captureTime: start.advanced(by: cue.begin), duration: cue.duration)
            guard await wait(until: cue.captureTime - Self.lead) else { return }
            do throws(PCastError) {
                if try await sendInTime(cue) { sent(cue) }
            } catch {
                guard error.status == .gone || error.cause == .connection else { throw error }
            }
        }
    }

    /// Waits until a time. Returns false if the stream has ended or the task is cancelled before.
    private func wait(until time: WallTime) async -> Bool {
        while !hasEnded, !Task.isCancelled {
            let wait = time - MonotonicClock.wallTime()
            guard wait > .zero else { return true }
            try? await Task.sleep(for: min(wait, Self.longestPause).duration)
        }
        return false
    }

    /// Sends a cue, also repeatedly if the platform has received too many. Returns false if its time has passed. Throws
    /// an error for another refusal.
    private func sendInTime(_ cue: CaptionCue) async throws(PCastError) -> Bool {
        while !hasEnded, !Task.isCancelled, cue.end > MonotonicClock.wallTime(),
            MonotonicClock.wallTime() - cue.captureTime < TimeSpan(CaptionCue.maximumDistance)
        {
            do throws(PCastError) {
                try await sendCaptions([cue])
                return true
            } catch {
                guard error.status == .rateLimited else { throw error }
                try? await Task.sleep(for: Self.retryPause)
            }
        }
        return false
    }
}
