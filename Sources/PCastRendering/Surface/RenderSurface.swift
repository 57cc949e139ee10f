public import PCastMedia

/// Where a renderer's pictures are shown (seed 004's render surface): a window, a terminal, or an application's own.
///
/// A surface can be lost, as when somebody closes the window, and be there again; what it is shown meanwhile is left out.
public protocol RenderSurface: AnyObject, Sendable {
    /// Takes the picture that is to be seen now, and keeps it until the next. Called from one thread at a time, which
    /// it must not hold up: it remembers at most one picture that it has not drawn, and counts what it leaves out.
    func show(_ frame: VideoFrame)

    /// How pictures lie on it; a change is seen at once, by the picture that is there.
    var arrangement: PictureArrangement { get set }

    /// What it has done with its pictures.
    var statistics: SurfaceStatistics { get }

    /// What happens to it from now on, at first `ready` if it is there. At most 64 events wait for their reader. It
    /// ends when the surface does.
    var events: AsyncStream<SurfaceEvent> { get }
}
