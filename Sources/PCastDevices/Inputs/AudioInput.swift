package import PCastCore
import PCastIO

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
                let placed = current.withLock { $0.timeline.timestamp(captured, samples: frame.sampleCount) }
                guard let placed else { return }
                frame.captureTime = captured
                frame.timestamp = placed
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
