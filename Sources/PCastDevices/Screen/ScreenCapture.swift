import PCastCore
import PCastIO
import Synchronization

/// The loop of a screen source's thread and its state.
final class ScreenCapture: @unchecked Sendable {
    private let grabber: ScreenGrabber
    private let status: ScreenStatus
    private let reference: WallClockReference
    private var next: Int64 = 0
    private var isOver = false

    /// The last delivered frame, which is repeated while a window is not visible.
    private var last: VideoFrame?

    init(grabber: ScreenGrabber, status: ScreenStatus, reference: WallClockReference) {
        self.grabber = grabber
        self.status = status
        self.reference = reference
    }

    /// Captures one frame. Returns the end of the source, once; nil while it continues or if it was stopped.
    func run(_ frameIndex: Int64, _ deliver: (VideoSample) -> Void) -> SourceEnd? {
        guard !isOver else { return nil }
        if next == 0 { BrokenPipe.blockOnThisThread() }
        let missed = frameIndex - next
        next = frameIndex + 1
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
        case .frame(let frame):
            last = frame
            deliver(.frame(frame))
            return nil
        case .hidden:
            if let last { deliver(.frame(last.retimed(captureTime: captureTime, timestamp: timestamp))) }
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
