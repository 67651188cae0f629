//! The guide's recommendations for each scenario ("Scenario-Based Recommendations"), as strategies.
//!
//! The paths are the guide's properties in camel case. [`PRESETS`] has each with its name.

use crate::partitioning::{
    path::PropertyPath,
    period::Granularity,
    strategy::{KeyPart, KeyStrategy},
};

/// The most readings a day of a device with a partition a month. Above, it gets one a day ("Time-Series Data").
pub const MAX_MONTHLY_READINGS_PER_DAY: u32 = 1000;

/// A named strategy.
pub type NamedStrategy = (&'static str, fn() -> KeyStrategy);

/// All presets with their names, in the order of the guide.
pub const PRESETS: [NamedStrategy; 9] = [
    ("social-posts", social_posts),
    ("multi-tenant", multi_tenant),
    ("sensor-readings", sensor_readings),
    ("frequent-sensor-readings", frequent_sensor_readings),
    ("documents", documents),
    ("products", products),
    ("orders-by-customer", orders_by_customer),
    ("orders-by-region", orders_by_region),
    ("infrastructure-events", infrastructure_events),
];

/// Returns the strategy for posts of a social platform: `/userId+/createdAt by month`.
///
/// A user's timeline is read from one partition a month, and no user fills one by years of
/// writing. Queries over many users visit a partition for each user and month.
pub fn social_posts() -> KeyStrategy {
    KeyStrategy::from_parts([value("userId"), by("createdAt", Granularity::Month)])
}

/// Returns the strategy for data of the tenants of a service: `/tenantId`.
///
/// A tenant's queries and transactions are in one partition, and no query mixes tenants by mistake. A
/// large tenant meets the limits of a logical partition, 20 GB and 10,000 RU/s: a second level, such as
/// `/tenantId,/userId`, has no such limit for the tenant.
pub fn multi_tenant() -> KeyStrategy {
    KeyStrategy::from_parts([value("tenantId")])
}

/// Returns the strategy for readings of sensors, at most [`MAX_MONTHLY_READINGS_PER_DAY`] a day:
/// `/deviceId+/timestamp by month`.
///
/// A device's readings of a time are in few partitions, and old ones can be moved or deleted a
/// partition at a time. Aggregates over devices visit a partition for each device and month.
pub fn sensor_readings() -> KeyStrategy {
    KeyStrategy::from_parts([value("deviceId"), by("timestamp", Granularity::Month)])
}

/// Returns the strategy for readings of sensors, more than [`MAX_MONTHLY_READINGS_PER_DAY`] a day:
/// `/deviceId+/timestamp by day`.
///
/// The same as [`sensor_readings`], in partitions that stay small at high rates. A query over a month visits
/// up to 31. A device that changes from months to days is in a class since a day:
/// `/deviceId+/timestamp by month; by day where /deviceId is d1 since 2026-11-20`.
pub fn frequent_sensor_readings() -> KeyStrategy {
    KeyStrategy::from_parts([value("deviceId"), by("timestamp", Granularity::Day)])
}

/// Returns the strategy for documents of an enterprise: `/department+/documentType`.
///
/// The documents of one type in one department are one partition. Each type of a department is a
/// partition, and the reader must know all types; `/department,/documentType` finds them by the prefix.
/// Departments of very different size make partitions of very different size.
pub fn documents() -> KeyStrategy {
    KeyStrategy::from_parts([value("department"), value("documentType")])
}

/// Returns the strategy for products of a shop: `/category+/brand`.
///
/// A category is browsed by brand in one partition. A whole category visits one for each brand, and a
/// product that changes either must be moved. A point read needs both beside the id.
pub fn products() -> KeyStrategy {
    KeyStrategy::from_parts([value("category"), value("brand")])
}

/// Returns the strategy for orders of a shop that its customers read: `/customerId`.
///
/// A customer's orders are one partition, with a transaction over them. Reports over a time visit all
/// partitions.
pub fn orders_by_customer() -> KeyStrategy {
    KeyStrategy::from_parts([value("customerId")])
}

/// Returns the strategy for orders of a shop that its regions report on: `/region+/orderDate by month`.
///
/// A region's month is one partition. It takes all new orders of the region, so few regions make it
/// hot, and a customer's orders are in a partition for each month.
pub fn orders_by_region() -> KeyStrategy {
    KeyStrategy::from_parts([value("region"), by("orderDate", Granularity::Month)])
}

/// Returns the strategy for events of a city's infrastructure: `/zone+/deviceType+/timestamp by month`.
///
/// A zone's devices of a type are read by month from one partition, which also spreads the writes of
/// the month. Queries over zones visit a partition for each zone, type and month.
pub fn infrastructure_events() -> KeyStrategy {
    KeyStrategy::from_parts([
        value("zone"),
        value("deviceType"),
        by("timestamp", Granularity::Month),
    ])
}

fn value(property: &str) -> KeyPart {
    KeyPart::Value(PropertyPath::from_name(property))
}

fn by(property: &str, granularity: Granularity) -> KeyPart {
    KeyPart::Period(PropertyPath::from_name(property), granularity)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The keys of the guide's code, for items of the guide's classes.
    #[test]
    fn each_preset_gives_the_key_of_the_guide() {
        let item = json!({
            "userId": "user123", "createdAt": "2025-10-07T08:00:00Z", "tenantId": "tenant-123",
            "deviceId": "device-7", "timestamp": "2025-10-07T08:00:00Z", "department": "legal",
            "documentType": "contract", "category": "books", "brand": "acme", "customerId": "customer-1",
            "region": "emea", "orderDate": "2025-10-07", "zone": "north", "deviceType": "camera",
        });
        let keys = PRESETS.map(|(name, strategy)| {
            let key = strategy().key(&item).unwrap();
            (name, strategy().to_string(), key.to_string())
        });
        let expected = [
            ("social-posts", "/userId+/createdAt by month", "user123_2025-10"),
            ("multi-tenant", "/tenantId", "tenant-123"),
            ("sensor-readings", "/deviceId+/timestamp by month", "device-7_2025-10"),
            ("frequent-sensor-readings", "/deviceId+/timestamp by day", "device-7_2025-10-07"),
            ("documents", "/department+/documentType", "legal_contract"),
            ("products", "/category+/brand", "books_acme"),
            ("orders-by-customer", "/customerId", "customer-1"),
            ("orders-by-region", "/region+/orderDate by month", "emea_2025-10"),
            (
                "infrastructure-events",
                "/zone+/deviceType+/timestamp by month",
                "north_camera_2025-10",
            ),
        ];
        let expected =
            expected.map(|(name, written, key)| (name, written.to_owned(), format!("[\"{key}\"]")));
        assert_eq!(keys, expected);
    }

    #[test]
    fn each_preset_is_read_from_its_notation() {
        for (_, strategy) in PRESETS {
            assert_eq!(strategy().to_string().parse(), Ok(strategy()));
        }
    }
}
