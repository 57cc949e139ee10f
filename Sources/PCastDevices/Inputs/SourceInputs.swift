import PCastCore

/// The video and audio inputs of a publisher, opened together.
package struct SourceInputs: Sendable {
    /// The video input; nil without video.
    package var video: VideoInput?
    /// The audio input; nil without audio.
    package var audio: AudioInput?

    /// Opens the requested inputs. A file or an address that both requests name is read once, so that its audio and
    /// video are in sync. Throws the errors of the inputs, and `DeviceError.unreadable` or `.noTrack` for a file or an
    /// address.
    package init(video: VideoRequest?, audio: AudioRequest?) throws(DeviceError) {
        if let video, let audio, case .uri(let uri, let isLooping) = video.source, video.source == audio.source {
            let source = try URISource(
                uri: uri, media: [.video, .audio], isLooping: isLooping, passesThrough: video.passesThrough,
                codecs: [video.codec])
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

    /// Creates inputs from an open file or address. `frames` may wrap its video source. Throws `DeviceError.noTrack`.
    package init(
        opened source: URISource, frames: (any VideoSource) -> any VideoSource = { $0 }
    ) throws(DeviceError) {
        let specification = SourceSpecification.uri(source.uri, isLooping: false)
        if source.media.contains(.video) {
            video = VideoInput(opened: frames(try source.video()), request: VideoRequest(specification))
        }
        if source.media.contains(.audio) {
            audio = AudioInput(opened: try source.audio(), request: AudioRequest(specification))
        }
    }

    /// Creates inputs of a still image with silence.
    package init(image: StillImageSource) {
        video = VideoInput(opened: image, request: VideoRequest(.null))
        audio = AudioInput(opened: NullAudioSource(), request: AudioRequest(.null))
    }

    private static func open(_ request: VideoRequest) throws(DeviceError) -> VideoInput {
        guard case .uri(let uri, let isLooping) = request.source else { return try VideoInput(request) }
        let source = try URISource(
            uri: uri, media: [.video], isLooping: isLooping, passesThrough: request.passesThrough,
            codecs: [request.codec])
        return VideoInput(opened: try source.video(), request: request)
    }

    private static func open(_ request: AudioRequest) throws(DeviceError) -> AudioInput {
        guard case .uri(let uri, let isLooping) = request.source else { return try AudioInput(request) }
        return AudioInput(
            opened: try URISource(uri: uri, media: [.audio], isLooping: isLooping).audio(), request: request)
    }
}
