import PCastTimeline

/// An object that receives the deliveries of a timeline before the delegate. It is held weakly, and called from one
/// thread at a time, in order.
protocol TimelineReceiver: AnyObject, Sendable {
    /// Handles deliveries.
    func receive(_ deliveries: [TimelineDelivery])
    /// Handles the end of the timeline: nothing is released any more.
    func ended()
}

/// A weak reference to an audience.
struct WeakTimelineReceiver: Sendable { weak let value: (any TimelineReceiver)? }
