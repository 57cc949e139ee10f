import PCastCore

/// Where a publication's frames come from.
protocol PublishedMedia: AnyObject, Sendable {
    typealias Sink = @Sendable (SourceFrame) -> Void

    /// Ends with the source.
    var life: StreamLifecycle { get }
    /// Pictures a second, as far as the source knows; nil without video.
    var videoRate: Double? { get }
    /// The size of the pictures at this moment, as far as the source knows.
    var dimensions: Dimensions? { get }
    var hasSound: Bool { get }
    /// 1 or 2; nil without sound, and where the sound comes coded.
    var soundChannels: Int? { get }

    /// For people, in statistics.
    func deviceName(_ type: MediaType) -> String?

    /// Frames go to `sink`, of each type on one thread at a time, which it must not hold up.
    func add(_ sink: @escaping Sink) throws(PCastError) -> Int
    func remove(_ id: Int)
    /// Says whether a taker has somebody to take for.
    func setDemand(_ id: Int, _ wants: Bool)

    /// Of a source that codes its pictures itself.
    func requestKeyFrame()
}

extension LocalMedia: PublishedMedia {
    var videoRate: Double? { video?.nominalFrameRate }
    var dimensions: Dimensions? { video?.dimensions }
    var hasSound: Bool { audio != nil }
    var soundChannels: Int? { audio?.channels }

    func deviceName(_ type: MediaType) -> String? {
        type == .video ? video?.selection?.device.info.name : audio?.selection?.device.info.name
    }

    func requestKeyFrame() { video?.requestKeyFrame() }
}
