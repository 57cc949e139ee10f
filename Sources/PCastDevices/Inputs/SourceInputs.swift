import PCastMedia

/// The sources of one publication, opened together.
public struct SourceInputs: Sendable {
    public var video: VideoInput?
    public var audio: AudioInput?

    /// Opens what is asked for; a file or an address that is named twice is read once, so that its sound and its
    /// pictures stay in step.
    ///
    /// - Throws: as the inputs do, and `.unreadable` or `.noTrack` for a file or an address.
    public init(video: VideoRequest?, audio: AudioRequest?) throws(DeviceError) {
        if let video, let audio, case .uri(let uri, let isLooping) = video.source, video.source == audio.source {
            let source = try URISource(
                uri: uri, media: [.video, .audio], isLooping: isLooping, passesThrough: video.passesThrough)
            self.video = VideoInput(opened: try source.video(), request: video)
            self.audio = AudioInput(opened: try source.audio(), request: audio)
            return
        }
        self.video = try video.map { request throws(DeviceError) in try Self.open(request) }
        do throws(DeviceError) {
            self.audio = try audio.map { request throws(DeviceError) in try Self.open(request) }
        } catch {
            self.video?.stop()
            throw error
        }
    }

    /// Takes a file or an address that was opened already.
    ///
    /// - Parameter pictures: what becomes of its source of pictures.
    public init(
        opened source: URISource, pictures: (any VideoSource) -> any VideoSource = { $0 }
    ) throws(DeviceError) {
        let specification = SourceSpecification.uri(source.uri, isLooping: false)
        if source.media.contains(.video) {
            video = VideoInput(opened: pictures(try source.video()), request: VideoRequest(specification))
        }
        if source.media.contains(.audio) {
            audio = AudioInput(opened: try source.audio(), request: AudioRequest(specification))
        }
    }

    private static func open(_ request: VideoRequest) throws(DeviceError) -> VideoInput {
        guard case .uri(let uri, let isLooping) = request.source else { return try VideoInput(request) }
        let source = try URISource(
            uri: uri, media: [.video], isLooping: isLooping, passesThrough: request.passesThrough)
        return VideoInput(opened: try source.video(), request: request)
    }

    private static func open(_ request: AudioRequest) throws(DeviceError) -> AudioInput {
        guard case .uri(let uri, let isLooping) = request.source else { return try AudioInput(request) }
        return AudioInput(
            opened: try URISource(uri: uri, media: [.audio], isLooping: isLooping).audio(), request: request)
    }
}
