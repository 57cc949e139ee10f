package import PCastCore
import PCastIO
import Synchronization

/// The audio of a stream, independent of its device. The device is selected by constraints and can be replaced while
/// the stream runs. The audio is silent while the device is disconnected, and its echo is cancelled.
package final class AudioInput: AudioSource {
    /// The time for which a disconnected microphone is awaited before the track fails.
    package static let timeout = VideoInput.timeout

    private struct Current: Sendable {
        var request: AudioRequest
        var selection: AudioSelection?
        var source: any AudioSource
        var timeline = AudioTimeline()
    }

    private let current: SharedState<Current>
    private let slot: SwitchableSource<AudioFrame>
    private let audio = EchoCancelledInput()

    /// Opens the best device for a request. Throws `DeviceError`: `.notFound`, `.unmet` if no device satisfies a
    /// required constraint, `.busy`, `.forbidden` or `.faulty`.
    package convenience init(_ request: AudioRequest) throws(DeviceError) {
        let selection = try SourceDevices.select(request)
        self.init(try SourceDevices.open(selection), selection, request)
    }

    /// Creates an input from an open source, such as the audio of a file.
    package convenience init(opened source: any AudioSource, request: AudioRequest) {
        self.init(source, nil, request)
    }

    private init(_ source: any AudioSource, _ selection: AudioSelection?, _ request: AudioRequest) {
        let current = SharedState(Current(request: request, selection: selection, source: source))
        self.current = current
        slot = SwitchableSource<AudioFrame>(
            name: "audio", source: source.mediaSource, timeout: Self.timeout,
            opening: Self.opening(request, selection, current),
            substitute: {
                let channels = current.withLock { $0.source.channels }
                let silence = [Int16](repeating: 0, count: AudioFrameTiming.sampleCount * channels)
                return .init(
                    interval: AudioFrameTiming.due(0),
                    sample: { time in
                        AudioFrame(
                            samples: silence, channels: channels, captureTime: time - AudioFrameTiming.due(0),
                            timestamp: MediaTime(ticks: 0, rate: .opus))
                    })
            })
        audio.follow(selection)
    }

    // MARK: State

    /// The request.
    package var request: AudioRequest { current.withLock { $0.request } }

    /// The selected device, its configuration and the reasons; nil for a file or an address.
    package var selection: AudioSelection? { current.withLock { $0.selection } }

    /// The reason for each capability whose ideal value is unsatisfied, for display.
    package var unmet: [DeviceCapability: String] { selection?.unmet ?? [:] }

    /// The number of channels.
    package var channels: Int { current.withLock { $0.source.channels } }

    /// Whether the device is open. It is not while the input is paused or the device is disconnected.
    package var isOpen: Bool { slot.isOpen }

    // MARK: Running

    /// Starts the source. `deliver` receives audio and `ended` the end of the source. Throws `DeviceError` if it does
    /// not start.
    package func start(
        deliver: @escaping @Sendable (AudioFrame) -> Void, ended: @escaping @Sendable (SourceEnd) -> Void
    ) throws(DeviceError) {
        let (current, audio) = (current, audio)
        try slot.start(
            deliver: { frame in
                let captured = frame.captureTime ?? MonotonicClock.wallTime() - frame.length
                var frame = audio.clean(frame, captured: captured)
                let timestamp = current.withLock { $0.timeline.timestamp(captured, samples: frame.sampleCount) }
                guard let timestamp else { return }
                frame.captureTime = captured
                frame.timestamp = timestamp
                deliver(frame)
            }, ended: ended)
    }

    /// Stops the source and releases the device.
    package func stop() { slot.stop() }

    /// Pauses the input and releases the device until `resume`. A file or an address continues.
    package func rest() {
        if selection != nil { slot.rest() }
    }

    /// Opens the device again, with silence until that succeeds.
    package func resume() { slot.resume() }

    // MARK: Changes

    /// Changes the request while the stream runs; see ``VideoInput/apply(_:)``. Throws the errors of `init`, and
    /// `DeviceError.unusable` for a file or an address.
    package func apply(_ request: AudioRequest) throws(DeviceError) {
        guard let former = selection else {
            throw .unusable("\(current.withLock { $0.request.source })", reason: "a file or a URI cannot be changed")
        }
        let selection = try SourceDevices.select(request)
        if selection.device.info.id != former.device.info.id
            || !selection.configuration.hasFormat(of: former.configuration)
        {
            try slot.replace(
                isSameDevice: selection.device.info.id == former.device.info.id,
                opening: Self.opening(request, selection, current))
        }
        current.withLock { current in
            current.request = request
            current.selection = selection
        }
        audio.follow(selection)
    }

    /// Returns a function that opens the selected device repeatedly.
    private static func opening(
        _ request: AudioRequest, _ selection: AudioSelection?, _ current: SharedState<Current>
    ) -> @Sendable () throws(DeviceError) -> any MediaSource<AudioFrame> {
        @Sendable func open() throws(DeviceError) -> any MediaSource<AudioFrame> {
            guard let selection else {
                throw .unusable("\(request.source)", reason: "a file or a URI cannot be reopened")
            }
            let source = try SourceDevices.open(selection)
            current.withLock { $0.source = source }
            return source.mediaSource
        }
        return open
    }
}

extension AudioConfiguration {
    /// Returns whether a device that was opened with the other configuration need not be reopened. Echo cancellation is
    /// independent of the device.
    func hasFormat(of other: AudioConfiguration) -> Bool {
        channels == other.channels && polarPattern == other.polarPattern
    }
}

/// A value behind a lock that several closures share.
final class SharedState<Value: Sendable>: Sendable {
    private let value: Mutex<Value>

    init(_ value: Value) { self.value = Mutex(value) }

    func withLock<Result: Sendable>(_ body: (inout Value) -> Result) -> Result { value.withLock { body(&$0) } }
}

/// A request for an audio source.
package struct AudioRequest: Hashable, Sendable {
    /// The source. If it is ambiguous, the best device is selected.
    package var source: SourceSpecification
    /// The constraints.
    package var constraints: DeviceConstraints

    /// Creates a request.
    package init(_ source: SourceSpecification = .microphone(id: nil), constraints: DeviceConstraints = [:]) {
        self.source = source
        self.constraints = constraints
    }
}

/// The timestamps of an audio track across changes of its source: by the number of samples while a source is
/// contiguous, and by capture time after a gap.
struct AudioTimeline {
    /// The largest deviation of capture times in contiguous audio.
    private static let tolerance = ClockRate.opus.ticks(in: .milliseconds(20))

    private var origin: WallTime?
    private var next: Int64 = 0

    /// Returns the timestamp of a frame; nil if its time is already covered, e.g., when another microphone takes over.
    mutating func timestamp(_ captureTime: WallTime, samples: Int) -> MediaTime? {
        let origin = origin ?? captureTime
        self.origin = origin
        let captured = ClockRate.opus.ticks(in: captureTime - origin)
        guard captured >= next - Self.tolerance else { return nil }
        if captured > next + Self.tolerance { next = captured }
        defer { next += Int64(samples) }
        return MediaTime(ticks: next, rate: .opus)
    }
}

/// The echo cancellation of one input, which continues when the microphone changes.
final class EchoCancelledInput: Sendable {
    private let canceller = Mutex<EchoCanceller?>(nil)

    /// Adapts to another selection; nil and devices without echo disable the cancellation.
    func follow(_ selection: AudioSelection?) {
        guard let selection, case .audio(let capabilities) = selection.device.capabilities, capabilities.canCancelEcho
        else { return canceller.withLock { $0 = nil } }
        let configuration = selection.configuration
        canceller.withLock { canceller in
            if let current = canceller, current.channels == configuration.channels.channels {
                current.mode = configuration.echoCancellation
            } else {
                canceller = EchoCanceller(
                    channels: configuration.channels.channels, mode: configuration.echoCancellation)
            }
        }
    }

    /// Returns the frame without echo and with the same times. `captured` is the capture time of its first sample.
    func clean(_ frame: AudioFrame, captured: WallTime) -> AudioFrame {
        canceller.withLock { canceller in
            // While the microphone is replaced, a frame of the previous one may still arrive.
            guard let canceller, canceller.channels == frame.channels else { return frame }
            return canceller.process(frame, capturedAt: MonotonicClock.reference().instant(at: captured))
        }
    }
}
