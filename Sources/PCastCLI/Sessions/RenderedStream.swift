import PCast
import PCastCore

/// A stream of a `pcast subscribe` run that is decoded, rendered and recorded.
struct RenderedStream: Sendable {
    let stream: MediaStream
    let renderer: Renderer
    let recording: StreamRecording?
    let sizes: AsyncStream<Dimensions>
    let statistics: AsyncStream<ViewerStatistics>

    /// Whether the audio is played.
    let isHeard: Bool

    /// Starts rendering. `target` is the target; nil for none. Audio is played if there is a target and an audio output.
    /// `path` is the file of the recording; nil for none.
    ///
    /// - Throws: ``CommandFailure`` if the stream cannot be decoded, or `PCastError` if it cannot be recorded.
    init(_ stream: MediaStream, at target: DisplayTarget?, recording path: String?) throws {
        self.stream = stream
        // Audio is played where video is shown.
        renderer = stream.createRenderer(
            target == nil ? .nullDevices : RendererOptions())
        if let target { renderer.setRenderSurface(target.surface) }
        (sizes, statistics) = (renderer.videoDisplayDimensionsChanges, renderer.statistics)
        guard renderer.start() == .ok else {
            throw CommandFailure(.failed, "The stream cannot be decoded: it has ended, or no thread could be started.")
        }
        isHeard = renderer.isAudioPlayed
        recording = try path.map { path throws(PCastError) in try stream.record(to: path) }
    }
}
