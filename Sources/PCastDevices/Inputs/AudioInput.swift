import PCastIO
public import PCastMedia

/// The sound of one stream, whatever becomes of its device: opened under constraints, exchanged while the stream runs,
/// silent while the device is unplugged, and freed of what this machine plays.
public final class AudioInput: AudioSource {
    /// How long an unplugged microphone is waited for before the track fails.
    public static let patience = VideoInput.patience

    private struct Current: Sendable {
        var request: AudioRequest
        var selection: AudioSelection?
        var source: any AudioSource
        var timeline = SoundTimeline()
    }

    private let current: SharedState<Current>
    private let slot: SourceSlot<AudioFrame>
    private let sound = CleanSound()

    /// Opens the device that suits the request best.
    ///
    /// - Throws: `.notFound`, `.unmet` for a demand that no device meets, `.busy`, `.forbidden`, `.faulty`.
    public convenience init(_ request: AudioRequest) throws(DeviceError) {
        let selection = try SourceDevices.select(request)
        self.init(try SourceDevices.open(selection), selection, request)
    }

    /// Takes a source that was opened already, such as one of two media of a file.
    public convenience init(opened source: any AudioSource, request: AudioRequest) {
        self.init(source, nil, request)
    }

    private init(_ source: any AudioSource, _ selection: AudioSelection?, _ request: AudioRequest) {
        let current = SharedState(Current(request: request, selection: selection, source: source))
        self.current = current
        slot = SourceSlot<AudioFrame>(
            name: "audio", source: source.mediaSource, patience: Self.patience,
            opening: Self.opening(request, selection, current),
            standIn: {
                let channels = current.withLock { $0.source.channels }
                let silence = [Int16](repeating: 0, count: SoundBeat.sampleCount * channels)
                return .init(
                    interval: SoundBeat.due(0),
                    sample: { time in
                        AudioFrame(
                            samples: silence, channels: channels, captureTime: time - SoundBeat.due(0),
                            timestamp: MediaTime(ticks: 0, rate: .opus))
                    })
            })
        sound.follow(selection)
    }

    // MARK: What it is

    /// What was asked for.
    public var request: AudioRequest { current.withLock { $0.request } }

    /// Which device it is, how it was opened, and why; nil for a file or an address.
    public var selection: AudioSelection? { current.withLock { $0.selection } }

    /// The wishes that could not be granted, each with the reason for people.
    public var unmet: [DeviceCapability: String] { selection?.unmet ?? [:] }

    public var channels: Int { current.withLock { $0.source.channels } }

    /// Whether the device is open: not while it rests, nor while it is away.
    public var isOpen: Bool { slot.isOpen }

    // MARK: Running

    public func start(
        deliver: @escaping @Sendable (AudioFrame) -> Void, ended: @escaping @Sendable (SourceEnd) -> Void
    ) throws(DeviceError) {
        let (current, sound) = (current, sound)
        try slot.start(
            deliver: { frame in
                let captured = frame.captureTime ?? MonotonicClock.wallTime() - frame.length
                var frame = sound.clean(frame, captured: captured)
                let placed = current.withLock { $0.timeline.place(captured, samples: frame.sampleCount) }
                guard let placed else { return }
                frame.captureTime = captured
                frame.timestamp = placed
                deliver(frame)
            }, ended: ended)
    }

    public func stop() { slot.stop() }

    /// Gives the device back until `resume`. A file or an address goes on.
    public func rest() {
        if selection != nil { slot.rest() }
    }

    /// Opens the device again; silence until that succeeds.
    public func resume() { slot.resume() }

    // MARK: Changes

    /// Asks for something else while the stream runs; see ``VideoInput/apply(_:)``.
    ///
    /// - Throws: as `init` does, and `.unusable` for a file or an address, or where one is asked for.
    public func apply(_ request: AudioRequest) throws(DeviceError) {
        guard let former = selection else {
            throw .unusable("\(current.withLock { $0.request.source })", reason: "a file or an address stays as it is")
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
        sound.follow(selection)
    }

    /// Opens what was selected, again and again.
    private static func opening(
        _ request: AudioRequest, _ selection: AudioSelection?, _ current: SharedState<Current>
    ) -> @Sendable () throws(DeviceError) -> any MediaSource<AudioFrame> {
        @Sendable func open() throws(DeviceError) -> any MediaSource<AudioFrame> {
            guard let selection else {
                throw .unusable("\(request.source)", reason: "a file or an address is opened once")
            }
            let source = try SourceDevices.open(selection)
            current.withLock { $0.source = source }
            return source.mediaSource
        }
        return open
    }
}

extension AudioConfiguration {
    /// Whether a device that was opened with the other need not be opened again: echo cancellation is not its own.
    func hasFormat(of other: AudioConfiguration) -> Bool {
        channels == other.channels && polarPattern == other.polarPattern
    }
}
