import PCast
import PCastMedia

extension ClientRun {
    /// Tells each second how a stream is published, until it ends.
    ///
    /// - Parameter media: devices; nil where there are none.
    func report(_ publisher: Publisher, _ media: UserMediaStream?) async {
        let beginning = SystemClock.monotonic()
        var seconds = 0
        for await statistics in publisher.statistics {
            let elapsed = SystemClock.monotonic() - beginning
            console.event("stats", PublishFigures.fields(statistics, media))
            console.show(
                PublishFigures.block(
                    statistics, media, elapsed: elapsed, link: link.current, quality: publisher.dataQuality))
            seconds += 1
            if !console.isLive, seconds % 10 == 0 { console.say(PublishFigures.line(statistics, elapsed: elapsed)) }
        }
    }
}
