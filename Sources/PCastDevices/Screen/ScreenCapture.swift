import PCastIO
import PCastMedia
import Synchronization

/// The body of a screen source's thread, and what only that thread touches.
final class ScreenCapture: @unchecked Sendable {
    private let grabber: ScreenGrabber
    private let status: ScreenStatus
    private let reference: WallClockReference
    private var next: Int64 = 0
    private var isOver = false

    /// What was delivered last, for while a window is not shown.
    private var last: VideoFrame?

    init(grabber: ScreenGrabber, status: ScreenStatus, reference: WallClockReference) {
        self.grabber = grabber
        self.status = status
        self.reference = reference
    }

    /// Takes the picture of one beat. Answers how the source ended, once; nil while it goes on, or was stopped.
    func run(_ beat: Int64, _ deliver: (VideoSample) -> Void) -> SourceEnd? {
        guard !isOver else { return nil }
        if next == 0 { BrokenPipe.blockOnThisThread() }
        let missed = beat - next
        next = beat + 1
        let elapsed = MonotonicClock.now() - reference.instant
        let timestamp = MediaTime(ticks: ClockRate.video.ticks(in: elapsed), rate: .video)
        let captureTime = reference.wallTime + elapsed
        let grab = grabber.grab(captureTime: captureTime, timestamp: timestamp)
        let dimensions = grabber.dimensions
        let isStopped = status.values.withLock { values in
            values.leftOut += missed
            values.dimensions = dimensions
            return values.isStopped
        }
        guard !isStopped else { return nil }
        switch grab {
        case .picture(let frame):
            last = frame
            deliver(.picture(frame))
            return nil
        case .hidden:
            if let last { deliver(.picture(last.retimed(captureTime: captureTime, timestamp: timestamp))) }
            return nil
        case .closed: return end(.ended)
        case .vanished(let reason): return end(.vanished(reason))
        case .failed(let reason): return end(.failed(reason))
        }
    }

    private func end(_ end: SourceEnd) -> SourceEnd {
        isOver = true
        return end
    }
}
