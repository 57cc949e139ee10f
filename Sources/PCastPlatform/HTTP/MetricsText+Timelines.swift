extension MetricsText {
    mutating func add(_ counts: TimelineService.Counts) {
        add("pcast_timeline_games", .gauge, "Games whose timelines are in memory.", counts.games)
        add("pcast_timeline_consumers", .gauge, "Consumers of timelines.", counts.consumers)
        add("pcast_timeline_revisions_total", .counter, "Changes of timelines that were recorded.", counts.revisions)
    }
}
