import PCastTimeline

/// Who is told what a timeline's viewer is told, before his delegate is. Held weakly; called from one thread at a time, in order.
protocol TimelineAudience: AnyObject, Sendable {
    func told(_ deliveries: [TimelineDelivery])
    /// Nothing is known any more.
    func ended()
}

struct WeakTimelineAudience: Sendable { weak let value: (any TimelineAudience)? }
