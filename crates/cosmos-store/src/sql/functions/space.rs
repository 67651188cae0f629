//! Spatial functions, on a sphere: distances and areas differ from those of the service, which knows the ellipsoid, by
//! less than a hundredth. A polygon is always what its ring encloses, in whatever direction it goes.

use crate::json::Json;

use super::Args;

/// The mean radius of the earth, in metres.
const RADIUS: f64 = 6_371_008.8;

/// Longitude and latitude, in degrees.
type Point = [f64; 2];

/// What was read, or what is wrong with it.
type Read<T> = Result<T, &'static str>;

/// A GeoJSON object: lines (a point is one of a single position), and polygons with their holes.
#[derive(Default)]
struct Shape {
    lines: Vec<Vec<Point>>,
    polygons: Vec<Vec<Vec<Point>>>,
}

impl Shape {
    /// Reads a shape; the error says what is wrong with it.
    fn new(value: &Json) -> Read<Self> {
        let kind = value.get("type").and_then(Json::as_str).ok_or("The type is missing.")?;
        let coordinates = value.get("coordinates").ok_or("The coordinates are missing.")?;
        let mut shape = Self::default();
        match kind {
            "Point" => shape.lines.push(vec![point(coordinates)?]),
            "LineString" => shape.lines.push(line(coordinates, 2)?),
            "Polygon" => shape.polygons.push(polygon(coordinates)?),
            "MultiPolygon" => shape.polygons = each(coordinates, polygon)?,
            _ => return Err("The type must be Point, LineString, Polygon or MultiPolygon."),
        }
        Ok(shape)
    }

    /// Reads the two shapes of a function, and counts the steps of comparing them.
    fn pair(args: &Args<'_>) -> Option<(Self, Self)> {
        let (one, other) = (Self::new(args.get(0)?).ok()?, Self::new(args.get(1)?).ok()?);
        args.run.spend(one.points().count().saturating_mul(other.points().count()))?;
        Some((one, other))
    }

    fn all_lines(&self) -> impl Iterator<Item = &Vec<Point>> {
        self.lines.iter().chain(self.polygons.iter().flatten())
    }

    fn points(&self) -> impl Iterator<Item = Point> {
        self.all_lines().flatten().copied()
    }

    /// Returns the parts between two positions; of a point, from it to itself.
    fn segments(&self) -> impl Iterator<Item = (Point, Point)> {
        self.all_lines().flat_map(|line| {
            let next = line.iter().skip(1).chain(line.last().filter(|_| line.len() == 1));
            line.iter().copied().zip(next.copied())
        })
    }

    fn encloses(&self, point: Point) -> bool {
        self.polygons.iter().any(|rings| {
            let mut inside = rings.iter().map(|ring| is_in_ring(point, ring));
            inside.next().unwrap_or_default() && !inside.any(|inside| inside)
        })
    }

    fn touches(&self, other: &Self, strictly: bool) -> bool {
        self.segments().any(|(a, b)| other.segments().any(|(c, d)| cross(a, b, c, d, strictly)))
    }

    fn intersects(&self, other: &Self) -> bool {
        self.touches(other, false)
            || self.points().any(|point| other.encloses(point))
            || other.points().any(|point| self.encloses(point))
    }
}

fn each<T>(value: &Json, read: fn(&Json) -> Read<T>) -> Read<Vec<T>> {
    value.as_array().ok_or("The coordinates must be arrays.")?.iter().map(read).collect()
}

fn point(value: &Json) -> Read<Point> {
    let numbers = each(value, |number| number.as_f64().ok_or("A position must have numbers."))?;
    let [longitude, latitude, ..] = numbers[..] else {
        return Err("A position must have two numbers.");
    };
    if latitude.abs() > 90.0 {
        return Err("Latitude values must be between -90 and 90 degrees.");
    }
    if longitude.abs() > 180.0 {
        return Err("Longitude values must be between -180 and 180 degrees.");
    }
    Ok([longitude, latitude])
}

fn line(value: &Json, least: usize) -> Read<Vec<Point>> {
    let line = each(value, point)?;
    if line.len() < least { Err("There are too few positions.") } else { Ok(line) }
}

fn polygon(value: &Json) -> Read<Vec<Vec<Point>>> {
    let rings = each(value, |ring| line(ring, 4))?;
    if rings.is_empty() || rings.iter().any(|ring| ring.first() != ring.last()) {
        return Err("A ring of a polygon must end where it begins.");
    }
    Ok(rings)
}

fn is_in_ring(point: Point, ring: &[Point]) -> bool {
    let [x, y] = point;
    let crossed = ring.iter().zip(ring.iter().skip(1)).filter(|([ax, ay], [bx, by])| {
        (*ay > y) != (*by > y) && x < (bx - ax) * (y - ay) / (by - ay) + ax
    });
    crossed.count() % 2 == 1
}

/// Returns whether two segments have a point in common; strictly: one that is no end.
fn cross(a: Point, b: Point, c: Point, d: Point, strictly: bool) -> bool {
    let side = |a: Point, b: Point, c: Point| {
        (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
    };
    let opposite = |one: f64, other: f64| (one < 0.0 && other > 0.0) || (one > 0.0 && other < 0.0);
    let sides = [side(a, b, c), side(a, b, d), side(c, d, a), side(c, d, b)];
    if opposite(sides[0], sides[1]) && opposite(sides[2], sides[3]) {
        return true;
    }
    let is_on = |a: Point, b: Point, p: Point| {
        (0..2).all(|n| (a[n].min(b[n])..=a[n].max(b[n])).contains(&p[n]))
    };
    let ends = [(a, b, c), (a, b, d), (c, d, a), (c, d, b)];
    !strictly && sides.iter().zip(ends).any(|(side, (a, b, p))| *side == 0.0 && is_on(a, b, p))
}

/// Returns the metres between two positions, by the haversine formula.
fn metres([ax, ay]: Point, [bx, by]: Point) -> f64 {
    let half = |one: f64, other: f64| ((other - one).to_radians() / 2.0).sin().powi(2);
    let h = half(ay, by) + ay.to_radians().cos() * by.to_radians().cos() * half(ax, bx);
    2.0 * RADIUS * h.sqrt().min(1.0).asin()
}

/// Returns the metres from a position to a segment: its nearest point is found on a plane around the position.
fn metres_to_segment(from: Point, (a, b): (Point, Point)) -> f64 {
    let scale = from[1].to_radians().cos();
    let flat = |p: Point| [(p[0] - from[0]) * scale, p[1] - from[1]];
    let (fa, fb) = (flat(a), flat(b));
    let along = [fb[0] - fa[0], fb[1] - fa[1]];
    let length = along[0].powi(2) + along[1].powi(2);
    let share = -(fa[0] * along[0] + fa[1] * along[1]) / length;
    let share = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 };
    metres(from, [a[0] + (b[0] - a[0]) * share, a[1] + (b[1] - a[1]) * share])
}

pub(super) fn distance(args: &Args<'_>) -> Option<Json> {
    let (one, other) = Shape::pair(args)?;
    if one.intersects(&other) {
        return Some(Json::Number(0.0));
    }
    let nearest = |one: &Shape, other: &Shape| {
        let all = one.points().flat_map(|point| {
            other.segments().map(move |segment| metres_to_segment(point, segment))
        });
        all.fold(f64::INFINITY, f64::min)
    };
    Some(Json::Number(nearest(&one, &other).min(nearest(&other, &one))))
}

pub(super) fn within(args: &Args<'_>) -> Option<Json> {
    let (one, other) = Shape::pair(args)?;
    let inside = one.points().all(|point| other.encloses(point));
    Some(Json::Bool(inside && !one.touches(&other, true)))
}

pub(super) fn intersects(args: &Args<'_>) -> Option<Json> {
    let (one, other) = Shape::pair(args)?;
    Some(Json::Bool(one.intersects(&other)))
}

pub(super) fn is_valid(args: &Args<'_>) -> Option<Json> {
    Some(Json::Bool(Shape::new(args.get(0)?).is_ok()))
}

pub(super) fn is_valid_detailed(args: &Args<'_>) -> Option<Json> {
    let error = Shape::new(args.get(0)?).err();
    let mut result = vec![("valid".into(), Json::Bool(error.is_none()))];
    result.extend(error.map(|reason| ("reason".into(), Json::text(reason))));
    Some(Json::Object(result))
}

/// `ST_AREA`, in square metres.
pub(super) fn area(args: &Args<'_>) -> Option<Json> {
    let of_ring = |ring: &Vec<Point>| {
        let pairs = ring.iter().zip(ring.iter().skip(1));
        let parts = pairs.map(|([ax, ay], [bx, by])| {
            (bx - ax).to_radians() * (2.0 + ay.to_radians().sin() + by.to_radians().sin())
        });
        (parts.sum::<f64>() * RADIUS * RADIUS / 2.0).abs()
    };
    let shape = Shape::new(args.get(0)?).ok()?;
    let areas = shape.polygons.iter().map(|rings| {
        let mut areas = rings.iter().map(of_ring);
        areas.next().unwrap_or_default() - areas.sum::<f64>()
    });
    Some(Json::Number(areas.sum()))
}
