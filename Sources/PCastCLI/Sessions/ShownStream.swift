import PCast
import PCastMedia

/// One stream of a run of `subscribe`, as it is decoded, shown and recorded.
struct ShownStream: Sendable {
    let stream: MediaStream
    let renderer: Renderer
    let recording: StreamRecording?
    let sizes: AsyncStream<Dimensions>
    let statistics: AsyncStream<ViewerStatistics>

    /// Whether it is heard where it is seen.
    let isHeard: Bool

    /// Begins to show it.
    ///
    /// - Parameters:
    ///   - place: where; nil for nowhere. Where it is seen it is heard as well, if there is a loudspeaker.
    ///   - path: where it is recorded; nil for nowhere.
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

    /// Nil when it cannot be started.
    private static func started(
        _ stream: MediaStream, at place: ShowingPlace?, isHeard: Bool
    ) -> (Renderer, AsyncStream<Dimensions>, AsyncStream<ViewerStatistics>)? {
        let renderer = stream.createRenderer(RendererOptions(useNullAudioDevice: !isHeard))
        renderer.setRenderSurface(place?.surface)
        let (sizes, statistics) = (renderer.videoDisplayDimensionsChanges, renderer.statistics)
        return renderer.start() == .ok ? (renderer, sizes, statistics) : nil
    }
}
