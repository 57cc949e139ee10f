extension MetricsText {
    mutating func add(_ counts: TimelineService.Counts) {
        add("pcast_timeline_games", .gauge, "Number of games whose timelines are in memory.", counts.games)
        add("pcast_timeline_consumers", .gauge, "Number of timeline consumers.", counts.consumers)
        add("pcast_timeline_revisions_total", .counter, "Timeline revisions that were recorded.", counts.revisions)
    }
}
