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
        // Where it is seen it is heard as well.
        renderer = stream.createRenderer(
            place == nil ? .nullDevices : RendererOptions())
        if let place { renderer.setRenderSurface(place.surface) }
        (sizes, statistics) = (renderer.videoDisplayDimensionsChanges, renderer.statistics)
        guard renderer.start() == .ok else {
            throw CommandFailure(.failed, "The stream cannot be decoded here: it has ended, or no thread can be had.")
        }
        isHeard = renderer.isAudioPlayed
        recording = try path.map { path throws(PCastError) in try stream.record(to: path) }
    }
}
