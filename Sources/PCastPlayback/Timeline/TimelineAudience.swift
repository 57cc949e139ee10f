import PCastTimeline

/// An object that receives the deliveries of a timeline before the delegate. It is held weakly, and called from one
/// thread at a time, in order.
protocol TimelineAudience: AnyObject, Sendable {
    /// Handles deliveries.
    func told(_ deliveries: [TimelineDelivery])
    /// Handles the end of the timeline: nothing is released any more.
    func ended()
}

/// A weak reference to an audience.
struct WeakTimelineAudience: Sendable { weak let value: (any TimelineAudience)? }
