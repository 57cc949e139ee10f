import PCastCore
import PCastPlayback

extension ContentOverview {
    /// A live program whose position zero was recorded at 1000 s.
    static let datedProgramme: ContentOverview = {
        let anchor = TimecodeAnchor(
            position: .zero, wallTime: WallTime(millisecondsSinceEpoch: 1_000_000), source: .programDateTime)
        return ContentOverview(
            kind: .live, tracks: [.video, .audio], seekableRange: .zero...TimeSpan(seconds: 60), anchors: [anchor],
            liveEdge: .seconds(3))
    }()
}
