import PCast
import PCastMedia

/// A stream of a `pcast subscribe` run that is decoded, rendered and recorded.
struct ShownStream: Sendable {
    let stream: MediaStream
    let renderer: Renderer
    let recording: StreamRecording?
    let sizes: AsyncStream<Dimensions>
    let statistics: AsyncStream<ViewerStatistics>

    /// Whether the audio is played.
    let isHeard: Bool

    /// Starts rendering. `place` is the target; nil for none. Audio is played if there is a target and an audio output.
    /// `path` is the file of the recording; nil for none.
    ///
    /// - Throws: ``CommandFailure`` if the stream cannot be decoded, or `PCastError` if it cannot be recorded.
    init(_ stream: MediaStream, at place: ShowingPlace?, recording path: String?) throws {
        self.stream = stream
        let heard = place.flatMap { Self.started(stream, at: $0, isHeard: true) }
        guard let started = heard ?? Self.started(stream, at: place, isHeard: false) else {
            throw CommandFailure(.failed, "The stream cannot be decoded here: it has ended, or no thread can be had.")
        }
        isHeard = heard != nil
        (renderer, sizes, statistics) = started
        recording = try path.map { path throws(PCastError) in try stream.record(to: path) }
    }

    /// Returns a running renderer; nil if it cannot be started.
    private static func started(
        _ stream: MediaStream, at place: ShowingPlace?, isHeard: Bool
    ) -> (Renderer, AsyncStream<Dimensions>, AsyncStream<ViewerStatistics>)? {
        let renderer = stream.createRenderer(RendererOptions(useNullAudioDevice: !isHeard))
        renderer.setRenderSurface(place?.surface)
        let (sizes, statistics) = (renderer.videoDisplayDimensionsChanges, renderer.statistics)
        return renderer.start() == .ok ? (renderer, sizes, statistics) : nil
    }
}
